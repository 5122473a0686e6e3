// How the report looks: one style sheet for desk, phone and paper, light and dark.
#pragma once

#include <string_view>

namespace ptyche {

inline constexpr std::string_view page_style = R"css(
:root { --ink: #1c2024; --soft: #5c6670; --line: #d9dee3; --paper: #ffffff; --accent: #2a5d9f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a0a9b2; --line: #3a424a; --paper: #14181c; --accent: #86b7f0; }
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
.headline { font-size: 1.15rem; margin: 0 0 1.4rem; }
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
.facts th { width: 14rem; color: var(--soft); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.plot { display: block; width: 100%; max-width: 46rem; height: auto; }
.plot text { fill: var(--ink); font-size: 13px; }
.plot .grid { stroke: var(--line); fill: none; }
.plot .axis { stroke: var(--soft); fill: none; }
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
  .plot text { font-size: 19px; }
}
@media print {
  :root { --ink: #000000; --soft: #444444; --line: #bbbbbb; --paper: #ffffff; --accent: #1c4a86; }
  @page { margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  .pictures { grid-template-columns: 1fr 1fr; }
  figure, tr, .plot { break-inside: avoid; }
  h2, caption { break-after: avoid; }
}
)css";

}  // namespace ptyche
