"""The report of a campaign: report.html in one file, and its figures as PNG, PDF and SVG."""
