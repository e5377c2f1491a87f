"""Records as a report: one page, or Markdown, for somebody who was not there."""

from __future__ import annotations

from commlens.report.content import Report, build
from commlens.report.html import to_html
from commlens.report.markdown import to_markdown

__all__ = ["Report", "build", "to_html", "to_markdown"]
