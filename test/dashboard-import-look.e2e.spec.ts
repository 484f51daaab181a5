import { Browser } from './browser.js';
import { Api } from './harness.js';
import { signedIn } from './people-in.js';
import { eventually } from './processes.js';
import { lookAt } from '../src/dashboard/contacts/table.js';

it('looks', async () => {
  const rows = Array.from({ length: 300_000 }, (_, n) =>
    `p${n}@example.org;"Ada";Lovelace;ja;Bern "" x`.replace(' "" x', ''),
  );
  const bytes = Buffer.from(['email;a;b;Newsletter;d', ...rows].join('\r\n'));
  let worst = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
  }, 1);
  const begin = performance.now();
  await lookAt(bytes);
  console.log('MB', bytes.length / 1e6, 'ms', performance.now() - begin, 'worst gap', worst);
  worst = 0;
  const b2 = performance.now();
  await lookAt(Buffer.from('email\n' + '\n'.repeat(15_000_000) + '"a')).catch((e: any) =>
    console.log(JSON.stringify(e.details)),
  );
  console.log('open quote ms', performance.now() - b2, 'worst gap', worst);
  clearInterval(timer);
}, 60_000);

it('pictures', async () => {
  const api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  api.react();
  const client = await api.organization();
  const editor = await signedIn(api, client, 'EDITOR');
  const browser = await Browser.start();
  try {
    for (const [name, look] of [
      ['desk', {}],
      ['phone', { width: 390, isDark: true }],
    ] as const) {
      const window: any = await browser.open({ locale: 'de-DE', ...(look as object) } as any);
      const { page } = window;
      const [cn, cv] = editor.cookie.split('=', 2);
      await page.context().addCookies([{ name: cn!, value: cv!, url: api.origin }]);
      const home = `${api.origin}/dashboard/${client.organizationId}`;
      await page.goto(`${home}/contacts/import`);
      await page.locator('#onConflict-update').check();
      const buffer = Buffer.from(
        'E-Mail;Vorname;Newsletter\nada@example.org;Ada;ja\nnobody;X;nein\nalan@example.org;Alan;vielleicht\ngrace@example.org;Grace;\nemmy@example.org;Emmy;ja;zu viel\n',
      );
      await page.locator('#file').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
      await page.locator('form[enctype] button').click();
      await page.locator('#column-0').waitFor();
      await page.locator('#main form button').click();
      await page.locator('#agreed-fault').waitFor();
      await page.screenshot({ path: `/tmp/look-${name}-1.png`, fullPage: true });
      await page.locator('#agreed-true').check();
      await page.locator('#main form button').click();
      await eventually(async () => {
        await page.reload();
        expect(await page.content()).toContain('Der Import ist fertig');
      });
      await page.screenshot({ path: `/tmp/look-${name}-2.png`, fullPage: true });
      await page.goto(`${home}/contacts/import`);
      await page.screenshot({ path: `/tmp/look-${name}-3.png`, fullPage: true });
      console.log(JSON.stringify((await window.look?.().catch?.(() => 0)) ?? null));
    }
  } finally {
    await browser.stop();
    await api.stop();
  }
}, 60_000);
