from triage.text import changed_lines, markdown, python


def test_markdown_keeps_what_a_note_needs() -> None:
    html = markdown("**bold** `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```")
    for part in ("<strong>bold</strong>", "<code>code</code>", "<td>1</td>", '<pre tabindex="0">'):
        assert part in html


def test_markdown_lets_nothing_dangerous_through() -> None:
    for text in (
        "<script>alert(1)</script>",
        "[a](javascript:alert(1))",
        '<img src=x onerror="alert(1)">',
        "![a](https://tracker.example/pixel.png)",
        '<a href="https://a.example" onclick="x()">a</a>',
        "<style>body{display:none}</style>",
    ):
        html = markdown(text)
        assert "<script" not in html
        assert "<img" not in html
        assert "<style" not in html
        assert 'href="javascript' not in html


def test_source_is_highlighted_and_escaped() -> None:
    html = python('x = "<b>"  # say\n')
    assert "&lt;b&gt;" in html
    assert 'class="c1"' in html


def test_changed_lines_show_both_sides() -> None:
    html = changed_lines("a\nb\n", "a\nc\n")
    assert 'class="gd"' in html
    assert 'class="gi"' in html
