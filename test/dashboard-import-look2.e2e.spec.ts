import * as old from '../src/dashboard/contacts/zz-old-table.js';
import { lookAt, textOf, ImportableTable } from '../src/dashboard/contacts/table.js';
const rows = Array.from({ length: 300_000 }, (_, n) => `p${n}@example.org;"Ada";Lovelace;ja;Bern`);
const bytes = Buffer.from(['email;a;b;Newsletter;d', ...rows].join('\r\n'));
async function timed(name: string, work: () => Promise<unknown>) {
  let worst = 0;
  let last = performance.now();
  const see = () => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
  };
  const timer = setInterval(see, 1);
  const begin = performance.now();
  await work();
  see();
  clearInterval(timer);
  console.log(name, 'ms', performance.now() - begin, 'worst gap', worst);
}
it('x', async () => {
  for (let n = 0; n < 2; n += 1) {
    await timed('old look', async () => {
      let k = 0;
      for await (const r of old.rowsOf(old.textOf(bytes))) k += r.length;
    });
    await timed('new look', () => lookAt(bytes));
    const m = ['email', 'firstName', 'lastName', 'subscribed', 'city'] as const;
    await timed('old import', async () => {
      let k = 0;
      for await (const r of old.importable(old.textOf(bytes), m)) k += r.length;
    });
    await timed('new import', async () => {
      let k = 0;
      for await (const r of new ImportableTable(textOf(bytes), { meanings: m }).bytes()) k += r.length;
    });
  }
}, 100_000);
