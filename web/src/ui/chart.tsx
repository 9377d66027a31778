// Charts over time, drawn by uPlot, in the colours of the design.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { shownTheme } from '../live/preferences';

export interface Series {
  title: string;
  colour: string; // the name of a variable, such as --s-completed
  values: (number | null)[];
  fill?: boolean;
}

interface Props {
  label: string; // for those who do not see the chart
  times: number[]; // milliseconds
  series: Series[];
  format: (value: number) => string;
  height?: number;
  whole?: boolean; // marks of the scale are whole numbers
}

const wholeSteps = [1, 2, 5].flatMap((step) => [step, step * 10, step * 100, step * 1000, step * 10_000, step * 100_000]).sort((a, b) => a - b);

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(props: Props, width: number): uPlot.Options {
  const axis = { stroke: colour('--muted'), font: `11px ${colour('--font')}`, grid: { stroke: colour('--border'), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: props.height ?? 160,
    padding: [8, 8, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    scales: { y: { range: (_chart, _min, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, size: 26, space: 70, values: [[3600, '{HH}:{mm}', null, null, null, null, null, null, 1], [60, '{HH}:{mm}', null, null, null, null, null, null, 1], [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1]] },
      { ...axis, size: 54, ...(props.whole ? { incrs: wholeSteps } : {}), values: (_chart, ticks) => ticks.map(props.format) },
    ],
    series: [{}, ...props.series.map((series) => ({
      label: series.title,
      stroke: colour(series.colour),
      width: 1.5,
      points: { show: false },
      ...(series.fill ? { fill: `${colour(series.colour)}22` } : {}),
    }))],
  };
}

const dataOf = (props: Props): uPlot.AlignedData =>
  [props.times.map((time) => time / 1000), ...props.series.map((series) => series.values)] as uPlot.AlignedData;

/** Shows the values under the pointer in the element with the class chart-values. */
function showValues(chart: uPlot, props: Props, target: HTMLElement): void {
  const index = chart.cursor.idx ?? props.times.length - 1;
  const cells = target.querySelectorAll('[data-series]');
  props.series.forEach((series, at) => {
    const value = series.values[index];
    const cell = cells[at];
    if (cell) cell.textContent = value === null || value === undefined ? '–' : props.format(value);
  });
}

export function Chart(props: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>();
  const latest = useRef(props);
  latest.current = props;
  const shape = props.series.map((series) => series.title + series.colour).join();
  useEffect(() => {
    const target = holder.current;
    if (!target) return undefined;
    const made = new uPlot(options(latest.current, Math.max(100, target.clientWidth)), dataOf(latest.current), target);
    const values = (): void => { if (legend.current) showValues(made, latest.current, legend.current); };
    made.over.addEventListener('pointermove', values);
    made.over.addEventListener('pointerleave', () => { made.setCursor({ left: -10, top: -10 }); values(); });
    chart.current = made;
    values();
    const observer = new ResizeObserver(() => {
      if (target.clientWidth > 0 && target.clientWidth !== made.width) made.setSize({ width: target.clientWidth, height: made.height });
    });
    observer.observe(target);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [shape, shownTheme.value]);
  useEffect(() => {
    chart.current?.setData(dataOf(props));
    if (chart.current && legend.current) showValues(chart.current, props, legend.current);
  }, [props.times, props.series]);
  return (
    <figure aria-label={props.label}>
      <div class="chart-legend" ref={legend}>
        {props.series.map((series) => (
          <span key={series.title}><i style={{ background: `var(${series.colour})` }} />{series.title} <b data-series={series.title}>–</b></span>
        ))}
      </div>
      <div class="chart" ref={holder} />
    </figure>
  );
}

/** A small line without axes. */
export function Spark({ values, width = 120, height = 24, tone = 'completed', label }: { values: number[]; width?: number; height?: number; tone?: string; label: string }) {
  if (values.length < 2) return <svg class="spark" width={width} height={height} role="img" aria-label={label} />;
  const most = Math.max(...values, 1);
  const step = width / (values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 1.5 - (value / most) * (height - 3)).toFixed(1)}`);
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={label} data-state={tone}>
      <path class="area" d={`M0,${height} L${points.join(' L')} L${width},${height} Z`} />
      <path d={`M${points.join(' L')}`} />
    </svg>
  );
}
