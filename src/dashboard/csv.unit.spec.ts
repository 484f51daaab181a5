import { Readable } from 'node:stream';
import { StreamedAnswer } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { csvFor, forExcel } from './csv.js';

const wordsIn = (locale: string) => ({ locale }) as DashboardWords;

it.each([
  ['en', ','],
  ['en-GB', ','],
  ['de', ';'],
  ['fr', ';'],
  ['es-MX', ';'],
])('CSV in %s starts with a byte order mark and separates cells by %s', (locale, delimiter) => {
  const write = csvFor(wordsIn(locale));
  const first = ['a', 'b', '=1'].join(delimiter).replace('=1', "'=1");
  expect(write([['a', 'b', '=1']], true)).toBe(`\uFEFF${first}\r\n`);
  expect(write([['c', null]], false)).toBe(`c${delimiter}\r\n`);
});

it.each(['en', 'de'])(
  'an export of the API is converted for Excel in %s, and keeps its cells',
  async (locale) => {
    const chunks = Readable.from(['id,note\r\n1,"a;b"\r\n', `2,"'=1, ""x"""\r\n`]);
    const answer = forExcel(wordsIn(locale), new StreamedAnswer('text/csv', 'x.csv', chunks));
    const text = (await Readable.from(answer.chunks).toArray()).join('');
    const german = `\uFEFFid;note\r\n1;"a;b"\r\n2;"'=1, ""x"""\r\n`;
    const english = `\uFEFFid,note\r\n1,"a;b"\r\n2,"'=1, ""x"""\r\n`;
    expect(text).toBe(locale === 'de' ? german : english);
  },
);
