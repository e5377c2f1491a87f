"""Records as a report: one page, or Markdown, for somebody who was not there."""

from __future__ import annotations

from commlens.render.doctor import Examined, examined
from commlens.render.report.content import MOST_RECORDS, Report, build
from commlens.render.report.html import to_html
from commlens.render.report.markdown import to_markdown

__all__ = ["MOST_RECORDS", "Examined", "Report", "build", "examined", "to_html", "to_markdown"]
