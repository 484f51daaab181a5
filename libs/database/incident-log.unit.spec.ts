import { IncidentLog } from './incident-log.js';

function opened() {
  const lines: object[] = [];
  const log = (line: object) => lines.push(line);
  return { lines, incidents: new IncidentLog({ log, warn: log, error: log }) };
}
const REFUSED = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });

it('logs nothing after the process has begun to stop the database itself', () => {
  const { lines, incidents } = opened();
  incidents.end();
  expect(incidents.report(REFUSED)).toBe(true);
  incidents.refuse(REFUSED, 'a problem');
  expect(incidents.report(new Error('unknown'))).toBe(false);
  incidents.works();
  expect(lines).toEqual([]);
});

it('names DATABASE_URL only as one possible address, because the built-in PostgreSQL has none', () => {
  const { lines, incidents } = opened();
  incidents.report(REFUSED);
  expect(lines).toEqual([
    {
      message: 'database problem',
      problem: expect.stringMatching(
        /^PostgreSQL accepts no connections at its address\. .* If DATABASE_URL is set, /,
      ),
      reason: expect.stringContaining('ECONNREFUSED'),
    },
  ]);
});

it('knows that a missing socket means a server that is down, unlike another missing file', () => {
  const { incidents } = opened();
  const missing = (call: string) =>
    Object.assign(new Error(`${call} ENOENT /data/.s.PGSQL.5432`), { code: 'ENOENT' });
  expect([incidents.report(missing('connect')), incidents.report(missing('open'))]).toEqual([true, false]);
});
