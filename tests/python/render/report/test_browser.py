"""A report in Debian's chromium: it loads alone, its tables sort, and it fits to screens.

Skipped without chromium and playwright, unless COMMLENS_TEST_BROWSER is set, as .ci/run does.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

from commlens.model import load_each
from commlens.render.report import build, to_html
from report_helpers import page_of, write_all
from sample_records import make_record

CHROMIUM = shutil.which("chromium") or ""
MUST_RUN = bool(os.environ.get("COMMLENS_TEST_BROWSER"))
WIDE, NARROW = 1280, 390


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not MUST_RUN:
        pytest.importorskip("playwright", reason="no playwright: pip install '.[browser]'")
        if not CHROMIUM:
            pytest.skip("there is no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "report.html").write_text(to_html(build(load_each(write_all(folder)))))
    return folder / "report.html"


@dataclass
class View:
    page: Any
    said: list[str] = field(default_factory=list)  # on the console, and errors
    requests: list[str] = field(default_factory=list)


def opened(browser: Any, file: Path, width: int = WIDE, **options: Any) -> View:
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    view = View(context.new_page())
    view.page.on("console", lambda message: view.said.append(message.text))
    view.page.on("pageerror", lambda error: view.said.append(str(error)))
    view.page.on("dialog", lambda dialog: view.said.append(dialog.message))
    view.page.on("request", lambda request: view.requests.append(request.url))
    view.page.goto(file.as_uri())
    return view


def test_it_loads_without_a_request_and_without_a_word(browser: Any, report: Path) -> None:
    view = opened(browser, report)
    assert view.page.locator("#findings .finding h3", has_text="slower than NCCL").is_visible()
    assert view.page.locator("#machine .topology .rank").first.is_visible()
    assert view.page.locator("figure.picture svg").count() > 3
    for details in view.page.locator("details").all():
        details.evaluate("element => { element.open = true; }")
    assert view.said == []
    assert view.requests == [report.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_fits_to_the_screen(browser: Any, report: Path, width: int, scheme: str) -> None:
    view = opened(browser, report, width, color_scheme=scheme)
    assert view.page.evaluate("document.documentElement.scrollWidth") == width
    for target in ("#findings", "#machine", "section.card", "#data"):
        pixels = imread(io.BytesIO(view.page.locator(target).first.screenshot()))[..., :3]
        assert pixels.shape[1] <= width
        assert pixels.std() > 0.02, f"{target} is empty"
        assert (pixels.mean() > 0.5) == (scheme == "light")


def test_tables_sort_by_a_click_and_by_the_keyboard(browser: Any, report: Path) -> None:
    page = opened(browser, report).page
    table = page.locator("section.card table").first
    heads = table.locator("thead th")
    (column,) = [n for n, head in enumerate(heads.all()) if "latency" in head.inner_text()]
    cells = table.locator(f"tbody tr td:nth-child({column + 1})")
    heads.nth(column).locator("button").click()
    times = [float(text) for text in cells.all_inner_texts()]
    assert times == sorted(times) and len(set(times)) > 5
    assert heads.nth(column).get_attribute("aria-sort") == "ascending"
    heads.nth(column).locator("button").focus()
    page.keyboard.press("Enter")
    assert [float(text) for text in cells.all_inner_texts()] == times[::-1]
    assert heads.nth(column).get_attribute("aria-sort") == "descending"
    heads.nth(0).locator("button").click()
    sizes = table.locator("tbody tr td:nth-child(1)").all_inner_texts()
    assert sizes[0] == "8 B" and sizes[-1] == "32 KiB" and "" not in sizes


def test_texts_are_compared_by_their_meaning(browser: Any, report: Path) -> None:
    page = opened(browser, report).page
    texts = ["< 1%", "1%", "3.2%", "87%", "best", "1.20x", "8.000 (36%)", "131.5 to 140.2", "1,234",
             "4 KiB", "1 MiB", "2.8e9", "-"]  # fmt: skip
    shuffled = texts[::2] + texts[1::2]
    assert page.evaluate("texts => texts.sort((a, b) => compare(a, b, 1))", shuffled) == texts


def test_a_figure_is_shown_under_the_pointer(browser: Any, report: Path) -> None:
    page = opened(browser, report).page
    point = page.locator("figure.picture svg use[data-text]").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#pointer").inner_text().startswith("mpi · 8 B · latency (us) 10.00")
    page.mouse.move(1, 1)
    assert page.locator("#pointer").is_hidden()


def test_it_can_be_read_without_a_script(browser: Any, report: Path) -> None:
    page = opened(browser, report, java_script_enabled=False).page
    assert page.locator("#findings .finding").first.is_visible()
    assert page.locator("th button").count() == 0
    page.locator("summary", has_text="What the values mean").first.click()
    assert page.get_by_text("the latency_us of latency").first.is_visible()


def test_it_prints_light_whole_and_without_controls(browser: Any, report: Path) -> None:
    page = opened(browser, report, 720, color_scheme="dark").page
    page.emulate_media(media="print")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.picture svg')).filter") == "none"
    )
    assert not page.locator("nav").is_visible()
    assert page.locator("details:not([open]) dd").first.is_visible(), "what is folded is printed"
    # A head with a button in it is not repeated on the pages of its table.
    button = "getComputedStyle(document.querySelector('th button')).display"
    assert page.evaluate(button) == "contents"
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0, "nothing is cut off at the side"
    assert page.pdf().startswith(b"%PDF")


def test_the_records_can_be_saved(browser: Any, report: Path, tmp_path: Path) -> None:
    page = opened(browser, report, accept_downloads=True).page
    with page.expect_download() as download:
        page.locator("a.records").first.click()
    assert download.value.suggested_filename == "records.jsonl.gz"
    download.value.save_as(tmp_path / "saved.gz")
    import gzip

    assert gzip.decompress((tmp_path / "saved.gz").read_bytes()).startswith(b'{"kind":"start"')


def test_markup_in_records_does_nothing(browser: Any, tmp_path: Path) -> None:
    bad = "<img src=https://evil.example/x onerror=alert(1)><script>alert(2)</script>\"'"
    record = make_record(transport=bad, warnings=[bad], notes=[bad], command=[bad])
    record["start"]["transports"] = [bad]
    page = tmp_path / "report.html"
    page.write_text(page_of(tmp_path, record))
    view = opened(browser, page)
    assert view.said == [] and view.requests == [page.as_uri()]
    assert bad in view.page.locator("section.card td").all_inner_texts()
