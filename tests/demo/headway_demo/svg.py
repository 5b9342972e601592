# SPDX-License-Identifier: Apache-2.0
"""Just enough SVG.  Colours and fonts come from the page's style sheet."""

from html import escape


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def element(name, content=None, **attributes):
    """<name ...>content</name>; class_ stands for class, a_b for a-b."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{attribute(value)}"'
                      for key, value in attributes.items() if value is not None)
    if content is None:
        return f"<{name}{written}/>"
    return f"<{name}{written}>{content}</{name}>"


def attribute(value):
    return number(value) if isinstance(value, (int, float)) else escape(str(value))


def drawing(width, height, parts, label):
    """An image of the page: scales with it, has a name for screen readers."""
    return element("svg", "\n".join(parts), viewBox=f"0 0 {number(width)} {number(height)}",
                   role="img", aria_label=label, xmlns="http://www.w3.org/2000/svg")


def text(x, y, words, class_="", anchor="start"):
    return element("text", escape(words), x=x, y=y, class_=class_ or None,
                   text_anchor=None if anchor == "start" else anchor)


def line(x1, y1, x2, y2, class_):
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rectangle(x, y, width, height, class_, tip=None, radius=None):
    return element("rect", title(tip), x=x, y=y, width=max(width, 0), height=max(height, 0),
                   class_=class_, rx=radius)


def circle(x, y, radius, class_, tip=None):
    return element("circle", title(tip), cx=x, cy=y, r=radius, class_=class_)


def path(points, class_, close=False):
    if not points:
        return ""
    steps = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'Z' if close else ''}", class_=class_)


def title(tip):
    return element("title", escape(tip)) if tip else None


def ticks(most, wanted=6):
    """Round numbers from 0 to at least `most`, about `wanted` of them."""
    if most <= 0:
        return [0, 1]
    rough = most / wanted
    power = 1.0
    while power * 10 <= rough:
        power *= 10
    while power > rough:
        power /= 10
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [i * step for i in range(int(most / step + 0.999) + 1)]
