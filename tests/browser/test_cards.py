"""What ``show:`` names, as people recognise results: cards then and now, pictures on a press, links on a click."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_irquality.report.html import html_report
from tests.report.made import compared

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Open

PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
FIELDS = {
    "best": {"price": "<b>37 €", "image": "https://pictures.example/best.jpg"},
    "came": {"link": "https://shop.example/came", "picture": PICTURE},
    "banned": {"link": "javascript:alert(1)", "thumb": "file:///etc/passwd"},
}


def test_documents_are_cards_joined_from_where_they_were_to_where_they_are(
    show: Open, audit: Callable[[Page], None]
) -> None:
    page = show(html_report([replace(compared(), fields=FIELDS)]), "#open=desk")
    cards = page.locator(".documents li")
    now = [
        text.split() for text in page.locator(".sides > div").nth(1).locator("li").all_inner_texts()
    ]
    assert now[0][:4] == ["1", "A", "newcomer", "came"]
    assert "<b>37 €" in page.locator(".fields").first.inner_text()
    assert page.locator(".lines path").count() == 3
    ends = page.locator(".lines path.lost").first.get_attribute("class")
    assert ends == "lost"
    audit(page)
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator(".lines path").first.wait_for(state="detached")
    assert cards.first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_picture_is_asked_for_once_somebody_presses_and_links_are_of_the_web_alone(
    show: Open, told: list[str]
) -> None:
    asked: list[str] = []
    page = show(html_report([replace(compared(), fields=FIELDS)]), "#open=desk")
    page.on("request", lambda request: asked.append(request.url))
    page.context.route(
        "https://pictures.example/**",
        lambda route: route.fulfill(body=b"GIF89a", content_type="image/gif"),
    )
    page.wait_for_timeout(200)
    assert asked == []
    assert page.locator("img[src]").evaluate_all("all => all.map(it => it.src)") == [PICTURE]
    links = page.locator(".fields a")
    assert links.evaluate_all("all => all.map(it => [it.href, it.rel, it.target])") == [
        ["https://shop.example/came", "noopener noreferrer", "_blank"]
    ]
    page.get_by_role("button", name="Show pictures (asks pictures.example)").click()
    page.locator('img[src="https://pictures.example/best.jpg"]').first.wait_for(state="attached")
    page.wait_for_timeout(200)
    assert {*asked} == {"https://pictures.example/best.jpg"}
    assert page.locator("button.asks").count() == 0


def test_a_page_without_fields_may_ask_for_no_picture(show: Open) -> None:
    assert "img-src" not in html_report([compared()])
    assert "img-src http: https: data:;" in html_report([replace(compared(), fields=FIELDS)])
