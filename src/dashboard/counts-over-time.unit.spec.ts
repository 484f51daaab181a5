import { DASHBOARD } from '#locales';
import { CountsOverTime } from './counts-over-time.js';

const counts = (days: { date: string; count: number }[]) =>
  String(
    CountsOverTime(DASHBOARD.en, {
      ...{ title: 'Over time', counted: 'Signatures', days, tables: [] },
      goal: { title: 'Total', value: 50 },
    }),
  );

it('the total includes days before those that are shown, and days without any', () => {
  const text = counts([
    { date: '2026-01-01', count: 5 },
    { date: '2026-11-18', count: 2 },
    { date: '2026-11-20', count: 30 },
  ]);
  expect(text).toContain('Total, 23 Aug 2026 to 20 Nov 2026. Rises from 5 to 37. Goal: 50.');
  expect(text).toContain('Over time, 23 Aug 2026 to 20 Nov 2026. Total: 32. Highest: 30 (20 Nov 2026).');
  expect(text.split('<rect').length - 1).toBe(90);
  const rows = [...text.matchAll(/<tr role="row">\s*<th role="rowheader"[^]*?<\/tr>/g)].map(([row]) =>
    row
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  expect(rows.slice(-3)).toEqual(['18 Nov 2026 2 7', '19 Nov 2026 0 7', '20 Nov 2026 30 37']);
});

it('a single day and a reached goal stay inside the box', () => {
  const heights = [...counts([{ date: '2026-11-20', count: 80 }]).matchAll(/[ML][\d.]+ ([\d.]+)/g)];
  expect(heights.length).toBeGreaterThan(1);
  for (const [, height] of heights) expect(Number(height)).toBeLessThanOrEqual(200);
});
