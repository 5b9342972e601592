# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the documentation's site; Documentation/site/build runs it on a copy."""

project = "Headway"
author = "The Headway authors"
copyright = author  # pylint: disable=redefined-builtin
extensions = ["myst_parser"]
exclude_patterns = ["man/*.html"]
html_theme = "furo"
html_title = "Headway"
html_copy_source = False
html_show_sphinx = False
# Documents name C, TOML and shell; what is not said to be code of a language is none.
highlight_language = "none"
# A document's own headings are targets, as in reproduction.md.
myst_heading_anchors = 3
html_static_path = ["static"]
html_css_files = ["headway.css"]
html_js_files = ["theme.js"]


def without_module(_app, _page, _template, context, _doctree):
    """Debian's furo.js imports another file, which browsers refuse to a script of its kind."""
    context["script_files"] = [file for file in context["script_files"] if "furo.js" not in str(file)]


def setup(app):
    app.connect("html-page-context", without_module, priority=900)
