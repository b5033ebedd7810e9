/** A picture of lines in panels side by side, on logarithmic axes, as SVG: no more than `pnpm bench scale` needs. */
export interface Panel {
  readonly title: string;
  readonly lines: readonly { readonly series: string; readonly points: readonly Point[] }[];
}

type Point = readonly [x: number, y: number];

export interface LineChart {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly series: readonly Series[];
  readonly panels: readonly Panel[];
}

interface Series {
  readonly name: string;
  readonly color: string;
  readonly dashed: boolean;
}

const PANEL = { width: 330, height: 260, left: 52, top: 58, gap: 66 };
const LEGEND_LINE_HEIGHT = 20;

interface Scale {
  readonly ticks: readonly number[];
  readonly place: (value: number) => number;
}

export function lineChart(chart: LineChart): string {
  const points = chart.panels.flatMap(({ lines }) => lines.flatMap((line) => line.points));
  const x = logScale(
    points.map(([value]) => value),
    0,
    PANEL.width,
  );
  const y = logScale(
    points.map(([, value]) => value),
    PANEL.height,
    0,
  );
  const width = PANEL.left + chart.panels.length * (PANEL.width + PANEL.gap) - PANEL.gap + 24;
  const legendTop = PANEL.top + PANEL.height + 62;
  const height = legendTop + chart.series.length * LEGEND_LINE_HEIGHT;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escape(chart.title)}</title>`,
    STYLE,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<text class="strong" x="${PANEL.left}" y="22">${escape(chart.title)}</text>`,
    ...chart.panels.map((panel, index) =>
      drawPanel(chart, panel, PANEL.left + index * (PANEL.width + PANEL.gap), { x, y }),
    ),
    ...chart.series.map((series, index) => drawKey(series, legendTop + index * LEGEND_LINE_HEIGHT)),
    '</svg>\n',
  ].join('\n');
}

/** The colours hold on light and on dark pages. */
const STYLE = `<style>
.ground { fill: #fff } text { font: 12px system-ui, sans-serif; fill: #333 } .strong { font-weight: 600 }
.grid { stroke: #ddd } .line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { .ground { fill: #0d1117 } text { fill: #c9d1d9 } .grid { stroke: #30363d } }
</style>`;

function drawPanel(chart: LineChart, { title, lines }: Panel, left: number, { x, y }: { x: Scale; y: Scale }): string {
  const parts = [
    `<g transform="translate(${left} ${PANEL.top})">`,
    `<text class="strong" x="0" y="-10">${escape(title)}</text>`,
    ...x.ticks.flatMap((tick) => [
      `<line class="grid" x1="${x.place(tick)}" y1="0" x2="${x.place(tick)}" y2="${PANEL.height}"/>`,
      `<text x="${x.place(tick)}" y="${PANEL.height + 18}" text-anchor="middle">${short(tick)}</text>`,
    ]),
    ...y.ticks.flatMap((tick) => [
      `<line class="grid" x1="0" y1="${y.place(tick)}" x2="${PANEL.width}" y2="${y.place(tick)}"/>`,
      `<text x="-8" y="${y.place(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
    ]),
    `<text x="${PANEL.width / 2}" y="${PANEL.height + 38}" text-anchor="middle">${escape(chart.xTitle)}</text>`,
    `<text transform="translate(-40 ${PANEL.height / 2}) rotate(-90)" text-anchor="middle">${escape(chart.yTitle)}</text>`,
  ];
  for (const { series, points } of lines) {
    const look = chart.series.find(({ name }) => name === series);
    if (look === undefined) continue;
    const places = points.map(([px, py]) => `${x.place(px)},${y.place(py)}`);
    parts.push(`<polyline class="line" ${stroke(look)} points="${places.join(' ')}"/>`);
    for (const place of places) {
      const [cx, cy] = place.split(',');
      parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${look.color}"/>`);
    }
  }
  return [...parts, '</g>'].join('\n');
}

function drawKey(series: Series, top: number): string {
  const { left } = PANEL;
  return [
    `<line class="line" ${stroke(series)} x1="${left}" y1="${top - 4}" x2="${left + 28}" y2="${top - 4}"/>`,
    `<text x="${left + 36}" y="${top}">${escape(series.name)}</text>`,
  ].join('\n');
}

function stroke({ color, dashed }: Series): string {
  return `stroke="${color}"${dashed ? ' stroke-dasharray="6 4"' : ''}`;
}

/** From the power of ten below the least value to the one above the greatest. */
function logScale(values: readonly number[], from: number, to: number): Scale {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)),
    place: (value) => Math.round((from + ((Math.log10(value) - first) / (last - first)) * (to - from)) * 10) / 10,
  };
}

function short(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000}M`;
  return value >= 1_000 ? `${value / 1_000}k` : String(Number(value.toPrecision(3)));
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
