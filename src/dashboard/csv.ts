import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { StreamedAnswer } from '#libs/rpc';
import { type DashboardWords } from '#locales';

/** Without it, Excel reads UTF-8 as the character set of the computer. */
const BYTE_ORDER_MARK = '\uFEFF';
/** Languages in which Excel expects semicolons, because the comma separates decimals. */
const WITH_SEMICOLONS = /^(de|fr|es)\b/;

function delimiterFor({ locale }: DashboardWords): string {
  return WITH_SEMICOLONS.test(locale) ? ';' : ',';
}

/** Writes rows as CSV that Excel opens correctly in the person's language. @param isFirst for the start of the file. */
export function csvFor(words: DashboardWords) {
  const delimiter = delimiterFor(words);
  return (rows: readonly (readonly (string | null)[])[], isFirst: boolean): string =>
    (isFirst ? BYTE_ORDER_MARK : '') +
    written(
      rows.map((row) => row.map(harmless)),
      delimiter,
    );
}

/** A CSV export of the API, for Excel in the person's language. Its chunks must be whole rows. */
export function forExcel(
  words: DashboardWords,
  { contentType, fileName, chunks }: StreamedAnswer,
): StreamedAnswer {
  const delimiter = delimiterFor(words);
  async function* converted() {
    let start = BYTE_ORDER_MARK;
    for await (const chunk of chunks) {
      const text = chunk.toString();
      // Formulas are already harmless.
      yield start + (delimiter === ',' ? text : written(parse(text), delimiter));
      start = '';
    }
  }
  return new StreamedAnswer(contentType, fileName, converted());
}

function written(rows: readonly (readonly (string | null)[])[], delimiter: string): string {
  const quoted = /[\r\n]/;
  return stringify([...rows], { delimiter, record_delimiter: '\r\n', quoted_match: quoted });
}

/** Prevents spreadsheets from running text as formulas. Imports remove the apostrophe. */
function harmless(cell: string | null): string | null {
  return cell !== null && /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}
