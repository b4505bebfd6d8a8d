"""Whether a built deck needs anything from another host, and whether every slide has room for
what it says. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

from numalab.errors import NumalabError

LEAST_PX = 20  # of letters on a slide of 1280 x 720, footers apart
_OTHER_HOST = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_CSS_URL = re.compile(r"url\(\s*[\"']?([^\"')]*)", re.IGNORECASE)
_CSS_IMPORT = re.compile(r"@import\s+(?:url\()?\s*[\"']?([^\"');]*)", re.IGNORECASE)
_LOADING = frozenset(
    ("src", "srcset", "href", "xlink:href", "poster", "data", "action", "background", "manifest")
)


class _Loads(HTMLParser):
    """What a page makes a browser fetch, as it stands in the page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        for name, value in attributes:
            if not value:
                continue
            if name == "style":
                self.found += _of_css(value)
            elif name == "srcset":
                self.found += [part.split()[0] for part in value.split(",") if part.split()]
            # A link that a reader may follow fetches nothing by itself.
            elif name in _LOADING and not (tag == "a" and name in ("href", "xlink:href")):
                self.found.append(value)
            elif tag == "meta" and name == "content" and "url=" in value.lower():
                self.found.append(value.lower().partition("url=")[2])

    def handle_endtag(self, tag: str) -> None:
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, text: str) -> None:
        if self._in_style:
            self.found += _of_css(text)


def _of_css(text: str) -> Iterator[str]:
    yield from _CSS_URL.findall(text)
    yield from _CSS_IMPORT.findall(text)


def from_elsewhere(page: str) -> list[str]:
    """What the page would load from another host, or from a file beside it."""
    loads = _Loads()
    loads.feed(page)
    loads.close()
    found = []
    for target in loads.found:
        target = unescape(target).strip()
        if _OTHER_HOST.match(target) or not target.startswith(("data:", "#")):
            found.append(target)
    return list(dict.fromkeys(found))


# ---- what fits ------------------------------------------------------------------------

_MARK = "numalab-looked-at"
_LOOK = """
<script>
addEventListener('load', () => document.fonts.ready.then(() => {
  const found = [];
  document.querySelectorAll('section').forEach((section, index) => {
    const say = (what) => found.push([index + 1, what]);
    const style = getComputedStyle(section);
    const bottom = section.clientHeight - parseFloat(style.paddingBottom);
    const right = section.clientWidth - parseFloat(style.paddingRight);
    for (const part of section.children) {
      if (part.tagName === 'FOOTER') continue;
      const below = Math.round(part.offsetTop + part.offsetHeight - bottom);
      const beside = Math.round(part.offsetLeft + part.offsetWidth - right);
      const what = part.tagName.toLowerCase() + ' "' + part.textContent.trim().slice(0, 30) + '"';
      if (below > 1) say(what + ' ends ' + below + ' px too low');
      if (beside > 1) say(what + ' is ' + beside + ' px too wide');
    }
    for (const part of section.querySelectorAll('pre, td, th, p, li, code')) {
      if (part.clientWidth && part.scrollWidth > part.clientWidth + 1)
        say('too wide: "' + part.textContent.trim().slice(0, 40) + '"');
    }
    for (const image of section.querySelectorAll('img'))
      if (!image.naturalWidth) say('a figure does not show: ' + image.alt);
    const texts = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
    const small = new Set();
    while (texts.nextNode()) {
      const part = texts.currentNode.parentElement;
      const px = parseFloat(getComputedStyle(part).fontSize);
      if (texts.currentNode.data.trim() && !part.closest('footer, mjx-container') && px < LEAST)
        small.add(px + ' px: "' + texts.currentNode.data.trim().slice(0, 30) + '"');
    }
    small.forEach(say);
  });
  const mark = document.createElement('pre');
  mark.id = 'MARK';
  mark.textContent = JSON.stringify(
    {slides: document.querySelectorAll('section').length, found: found});
  document.body.append(mark);
}));
</script>
""".replace("MARK", _MARK).replace("LEAST", str(LEAST_PX))


def looking_at_itself(page: str) -> str:
    """The page with a script that measures every slide once a browser has laid it out. Of
    Marp's template `bare`, which shows all slides."""
    return page.replace("</body>", _LOOK + "</body>")


def too_much(dumped: str, slides: int) -> list[tuple[int, str]]:
    """Slides, and what of them does not fit or is too small to be read, from what the browser
    made of the page. slides: how many there are. Raises NumalabError where they were not seen."""
    mark = re.search(rf'<pre id="{_MARK}">(.*?)</pre>', dumped, re.DOTALL)
    if mark is None:
        raise NumalabError("the browser did not look at the slides; does it start at all?")
    seen = json.loads(unescape(mark[1]))
    if seen["slides"] != slides:
        raise NumalabError(f"the browser saw {seen['slides']} slides of {slides}")
    return [(int(number), str(what)) for number, what in seen["found"]]
