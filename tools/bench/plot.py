"""A bar chart of shares, one group per workload, as an SVG file without further libraries."""

import pathlib
from xml.sax.saxutils import escape

BAR, GAP, LEFT, WIDTH = 11, 10, 230, 520
COLORS = {"warploom": "#1f6f8b", "torch.compile": "#c9a66b"}


def write_plot(path: pathlib.Path, title: str, rows: list[tuple[str, dict[str, float]]]) -> None:
    """`rows`: a label and, by candidate, a share of 1 (the right edge of the chart)."""
    parts, y = [], 50
    for label, shares in rows:
        middle = y + BAR * len(shares) / 2
        parts.append(f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>')
        for name, share in shares.items():
            length = min(share, 1.15) * WIDTH
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{COLORS[name]}"/>')
            parts.append(f'<text x="{LEFT + length + 4:.1f}" y="{y + 9}" font-size="9">{share:.2f}</text>')
            y += BAR
        y += GAP
    for tenth in (0, 5, 9, 10):
        x = LEFT + WIDTH * tenth / 10
        parts.append(f'<line x1="{x}" y1="44" x2="{x}" y2="{y}" stroke="#999" stroke-dasharray="3 3"/>')
        parts.append(f'<text x="{x}" y="40" text-anchor="middle" font-size="9">{tenth / 10}</text>')
    keys = "".join(
        f'<rect x="{LEFT + 120 * place}" y="{y + 6}" width="10" height="10" fill="{color}"/>'
        f'<text x="{LEFT + 120 * place + 14}" y="{y + 15}">{name}</text>'
        for place, (name, color) in enumerate(COLORS.items())
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 110}" height="{y + 30}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="10" y="20" font-size="14">{escape(title)}</text>{"".join(parts)}{keys}</svg>\n'
    )
