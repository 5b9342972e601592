// SPDX-License-Identifier: Apache-2.0
// Debian's furo follows the browser's choice of light or dark in code blocks only.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { document.body.dataset.theme = dark.matches ? "dark" : "light"; };
  dark.addEventListener("change", follow);
  follow();
})();
