#include "ptyche/report/page.h"

#include "ptyche/core/files.h"

namespace ptyche {
namespace {

/// How a page looks: one style sheet for desk, phone and paper, light and dark.
constexpr std::string_view kPageStyle = R"css(
:root { --ink: #1c2024; --soft: #5c6670; --line: #d9dee3; --paper: #ffffff; --accent: #2a5d9f;
        --shade: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a0a9b2; --line: #3a424a; --paper: #14181c; --accent: #86b7f0;
          --shade: #1f252b; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem clamp(0.9rem, 3vw, 2rem) 3rem; max-width: 76rem;
       color: var(--ink); background: var(--paper); line-height: 1.5;
       font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 0.8rem; padding-bottom: 0.25rem;
     border-bottom: 1px solid var(--line); }
p { max-width: 46rem; }
.headline { margin: 1.2rem 0 1rem; }
.verdict { max-width: none; margin: 0 0 0.8rem; padding: 0.7rem 1rem; font-size: 1.15rem;
           border-left: 0.4rem solid var(--line); background: var(--shade); }
.verdict strong { text-transform: capitalize; }
.verdict.good { border-color: #2e8b57; } .verdict.doubtful { border-color: #d9982b; }
.verdict.failed { border-color: #c0392b; }
.warnings { max-width: 60rem; margin: 0 0 1rem; padding-left: 1.2rem; font-size: 0.93rem; }
dl.numbers { display: grid; gap: 0.6rem 1.4rem; margin: 1.8rem 0 1rem;
             grid-template-columns: repeat(auto-fill, minmax(min(9.5rem, 45%), 1fr)); }
dl.numbers div { break-inside: avoid; }
dt { color: var(--soft); font-size: 0.82rem; }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
dd small { display: block; font-weight: 400; color: var(--soft); }
details { margin: 1.2rem 0; } summary { cursor: pointer; font-weight: 600; }
.pictures { display: grid; gap: 1.2rem; align-items: start;
            grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; max-width: 46rem; }
img { display: block; width: 100%; height: auto; background: #ffffff;
      border: 1px solid var(--line); border-radius: 4px; }
figcaption { margin-top: 0.5rem; font-size: 0.88rem; color: var(--soft); }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.6rem; font-size: 0.93rem; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { text-align: left; font-weight: 400; vertical-align: top; padding: 0.28rem 0.9rem 0.28rem 0;
         border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { color: var(--soft); font-size: 0.82rem; }
.scores th[scope=row], .options th { width: 24rem; }
.scores th[scope=row], .options, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
                                       font-size: 0.85rem; }
.scores td:nth-child(2) { width: 7rem; font-variant-numeric: tabular-nums; font-weight: 600; }
.scores td:nth-child(3) { color: var(--soft); }
.steps { display: grid; gap: 1.2rem; align-items: start; margin-bottom: 1.2rem;
         grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
.stages { max-width: 46rem; } .stages td { font-variant-numeric: tabular-nums; }
.stages th, .stages td { overflow-wrap: normal; }
.stages .kept { font-weight: 600; }
.facts th { width: 14rem; color: var(--soft); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.plot { display: block; width: 100%; max-width: 46rem; height: auto; }
.plot text { fill: var(--ink); font-size: 13px; }
.plot .grid { stroke: var(--line); fill: none; }
.plot .axis { stroke: var(--soft); fill: none; }
.plot .border { stroke: var(--line); stroke-dasharray: 4 4; fill: none; }
.plot .curve { stroke: var(--accent); stroke-width: 2; fill: none; stroke-linejoin: round; }
.plot .dot { fill: var(--accent); }
footer { margin-top: 2.5rem; font-size: 0.85rem; color: var(--soft); }
@media (max-width: 40rem) {
  .scores thead { display: none; }
  .scores tr { display: grid; grid-template-columns: 1fr auto; column-gap: 1rem;
               padding: 0.35rem 0; border-bottom: 1px solid var(--line); }
  .scores th, .scores td { border: 0; padding: 0; width: auto !important; }
  .scores th[scope=row] { grid-column: 1 / -1; font-size: 0.8rem; }
  .scores td:nth-child(2) { order: 1; }
  .options th { width: 55%; }
  .facts th { width: 38%; }
  .stages { font-size: 0.85rem; } .stages th, .stages td { padding-right: 0.45rem; }
  .stages thead th { font-size: 0.72rem; }
  .plot text { font-size: 19px; }
}
@media print {
  :root { --ink: #000000; --soft: #444444; --line: #bbbbbb; --paper: #ffffff; --accent: #1c4a86;
          --shade: #f3f5f7; }
  @page { margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 10pt; line-height: 1.4; }
  .pictures { grid-template-columns: 1fr 1fr; gap: 0.6rem; }
  h2 ~ .pictures { grid-template-columns: 1fr 1fr 1fr; }
  h2 ~ .pictures.wide { grid-template-columns: 1fr; }
  .pictures.wide figure { max-width: none; display: grid; grid-template-columns: 48% 1fr;
                          gap: 0.8rem; }
  h2 ~ .pictures.four { grid-template-columns: repeat(4, 1fr); gap: 0.4rem; }
  .pictures.four figcaption { font-size: 0.68rem; } .pictures.again figcaption { display: none; }
  .steps { grid-template-columns: 5fr 3fr; gap: 0.8rem; margin-bottom: 0.4rem; }
  h2 + table, tr { break-inside: avoid; } .facts { font-size: 0.72rem; }
  .facts tbody { display: grid; grid-template-columns: 1fr 1fr; column-gap: 1rem; }
  .facts tr { display: flex; } .facts td { flex: 1; } .facts th { width: 9rem; }
  .facts tr:nth-child(-n+3) { grid-column: 1 / -1; }
  th, td { padding-top: 0.12rem; padding-bottom: 0.12rem; }
  h2 { margin: 0.9rem 0 0.5rem; } footer { margin-top: 0.6rem; } h1 { font-size: 1.3rem; }
  figcaption { font-size: 0.75rem; line-height: 1.3; }
  dl.numbers { grid-template-columns: repeat(4, 1fr); gap: 0.3rem 1rem; margin-top: 1.1rem; }
  table { font-size: 0.8rem; } details { display: none; }
  .stages { font-size: 0.72rem; margin: 0; } .stages th:first-child { width: 44%; }
  figure, tr, .plot { break-inside: avoid; }
  h2, caption { break-after: avoid; }
}
)css";

std::string page_head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + std::string(kPageStyle) +
         "</style>\n</head>\n";
}

std::string paragraph(const std::string& text) {
  return text.empty() ? "" : "<p>" + escape_html(text) + "</p>\n";
}

}  // namespace

std::string html_page(const std::string& title, const std::string& body) {
  return page_head(title) + "<body>\n<header>\n<h1>" + escape_html(title) +
         "</h1>\n</header>\n<main>\n" + body + "</main>\n<footer>Written by Ptyche " +
         escape_html(version()) + "</footer>\n</body>\n</html>\n";
}

std::string section_html(const std::string& title, const std::string& content) {
  if (content.empty()) return "";
  const std::string heading = title.empty() ? "" : "<h2>" + escape_html(title) + "</h2>\n";
  return "<section>\n" + heading + content + "</section>\n";
}

std::string folded_html(const std::string& title, const std::string& content) {
  if (content.empty()) return "";
  return "<details><summary>" + escape_html(title) + "</summary>\n" + content + "</details>\n";
}

std::string pictures_html(const PictureRow& row) {
  if (row.pictures.empty()) return "";
  const std::size_t count = row.pictures.size();
  const std::string width = count == 1 ? " wide" : count > 2 ? " four" : "";
  // Words of its own: a row of pictures like those before it, whose captions paper need not repeat.
  const std::string again = row.text.empty() ? "" : " again";
  std::string html = paragraph(row.text) + "<div class=\"pictures" + width + again + "\">\n";
  for (const Picture& picture : row.pictures) html += figure_html(picture);
  return section_html(row.title, html + "</div>\n");
}

std::string numbers_html(const std::vector<NamedNumber>& numbers) {
  std::string html;
  for (const NamedNumber& each : numbers) {
    html += "<div><dt>" + escape_html(each.name) + "</dt><dd>" + escape_html(each.value);
    if (!each.note.empty()) html += "<small>" + escape_html(each.note) + "</small>";
    html += "</dd></div>\n";
  }
  return html.empty() ? "" : "<dl class=\"numbers\">\n" + html + "</dl>\n";
}

}  // namespace ptyche
