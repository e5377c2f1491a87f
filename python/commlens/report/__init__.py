"""Records as a report: one page, or Markdown, for somebody who was not there."""

from __future__ import annotations

from commlens.report.content import MOST_RECORDS, Report, build
from commlens.report.examined import Examined, examined
from commlens.report.html import to_html
from commlens.report.markdown import to_markdown

__all__ = ["MOST_RECORDS", "Examined", "Report", "build", "examined", "to_html", "to_markdown"]
