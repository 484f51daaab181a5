import { parse } from 'csv-parse/sync';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isLong, someOf } from '../../test/length.js';
import { Lines } from './lines.js';
import { type CsvOptions, readCsv, readNdjson, type ReadRecord, writeCsv } from './index.js';

const MIB = 1024 * 1024;

/** Checks that the records do not depend on how the bytes are divided into chunks. */
async function readAll(
  read: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<ReadRecord>,
  text: string | Buffer,
  sizes = [1, 2, 3, 7, 64 * 1024, Infinity],
): Promise<[number, unknown][]> {
  const bytes = Buffer.from(text);
  const results = await Promise.all(
    sizes.map(async (size) => {
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
      const records: [number, unknown][] = [];
      for await (const record of read(Readable.from(chunks))) {
        records.push([record.line, 'fields' in record ? record.fields : record.problem]);
      }
      return records;
    }),
  );
  for (const result of results) expect(result).toEqual(results[0]);
  return results[0]!;
}

const ndjson = (text: string | Buffer, sizes?: number[]) => readAll(readNdjson, text, sizes);
const csv = (text: string | Buffer, sizes?: number[], options?: CsvOptions) =>
  readAll((chunks) => objectsOf(chunks, options), text, sizes);

async function* objectsOf(
  chunks: AsyncIterable<Uint8Array>,
  options?: CsvOptions,
): AsyncGenerator<ReadRecord> {
  let columns: readonly string[] = [];
  for await (const row of readCsv(chunks, (names) => (columns = names), options)) {
    if ('problem' in row) yield row;
    else {
      const { cells, ...rest } = row;
      const fields = cells.flatMap((cell, n) => (cell === '' ? [] : [[columns[n]!, cell] as const]));
      yield { ...rest, fields: Object.fromEntries(fields) };
    }
  }
}

describe('readNdjson', () => {
  it('reads one object per line, with a byte order mark, CRLF, blank lines, and no newline at the end', async () => {
    expect(await ndjson('\uFEFF{"a":1}\r\n\n  \n{"a":"\\n€"}\n{"a":null}')).toEqual([
      [1, { a: 1 }],
      [4, { a: '\n€' }],
      [5, { a: null }],
    ]);
    expect(await ndjson('')).toEqual([]);
  });

  it('reports each line that is not an object, and continues after it', async () => {
    expect(await ndjson('{"a":1\n[1]\n"x"\nnull\n{"a":2}\n')).toEqual([
      ...[1, 2, 3, 4].map((line) => [line, 'is not a JSON object']),
      [5, { a: 2 }],
    ]);
  });

  it('reports lines that are not UTF-8', async () => {
    const text = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}\n{"a":1}')]);
    expect(await ndjson(text)).toEqual([
      [1, 'is not valid UTF-8'],
      [2, { a: 1 }],
    ]);
  });

  it('reads a line of 1 MiB, and rejects longer ones', async () => {
    const line = (length: number) => JSON.stringify({ a: 'x'.repeat(length - 8) });
    const text = [line(MIB), line(MIB + 1), '{"a":1}', line(3 * MIB), '{"a":2}', line(2 * MIB)].join('\n');
    expect(await ndjson(text, [...someOf([MIB, 64 * 1024, MIB - 1, MIB + 2, 3 * MIB], 2), Infinity])).toEqual(
      [
        [1, { a: 'x'.repeat(MIB - 8) }],
        [2, 'is longer than 1 MiB'],
        [3, { a: 1 }],
        [4, 'is longer than 1 MiB'],
        [5, { a: 2 }],
        [6, 'is longer than 1 MiB'],
      ],
    );
  });
});

describe('readCsv', () => {
  it('reads quotes, line breaks inside them, CRLF, empty cells and blank lines', async () => {
    const text = '\uFEFF"a",b\r\n1,"x, ""y""\r\nz"\r\n\r\n,2\r\n"",\n3,"\n"';
    expect(await csv(text)).toEqual([
      [2, { a: '1', b: 'x, "y"\r\nz' }],
      [5, { b: '2' }],
      [6, {}],
      [7, { a: '3', b: '\n' }],
    ]);
  });

  it('reports rows with too many cells; cells can be missing or empty at the end', async () => {
    expect(await csv('a,b\n1\n1,2,3\n1,2\n3,4,,\n')).toEqual([
      [2, { a: '1' }],
      [3, 'has 3 cells, but the header has 2'],
      [4, { a: '1', b: '2' }],
      [5, { a: '3', b: '4' }],
    ]);
  });

  it.each([';', '\t', '|'])('reads cells between other delimiters: %j', async (delimiter) => {
    const text = `sep=${delimiter}\n"a${delimiter}b"${delimiter}c,d\n1${delimiter}"2"\n`;
    expect(await csv(text, undefined, { delimiter, skip: 1 })).toEqual([
      [3, { [`a${delimiter}b`]: '1', 'c,d': '2' }],
    ]);
  });

  it.each(['x"y', '5" pipe', 'Bob "The Builder"', '"x"y', '"x"y"'])(
    'keeps a quotation mark inside a cell as text, and the rows that follow: %s',
    async (cell) => {
      expect(await csv(`a,b\n1,${cell}\n2,"x"\n3,"y\nz"\n4,${cell}\n`)).toEqual([
        [2, { a: '1', b: cell }],
        [3, { a: '2', b: 'x' }],
        [4, { a: '3', b: 'y\nz' }],
        [6, { a: '4', b: cell }],
      ]);
    },
  );

  it('rejects a row if a stray quotation mark joins two cells, so that the others move', async () => {
    expect(await csv('a,b,c\n"1,"yes","no"\n"1,"yes"\n3,5" pipe\n')).toEqual([
      [2, expect.stringContaining('has a quote')],
      [3, expect.stringContaining('has a quote')],
      [4, { a: '3', b: '5" pipe' }],
    ]);
  });

  it('reads line breaks in rows with too many or too few cells', async () => {
    expect(await csv('a,b,c\n1,"x\ny",z,,\n2,"x\ny"\n3,"x,y\nz,"\n4,x,y\n')).toEqual([
      [2, { a: '1', b: 'x\ny', c: 'z' }],
      [4, { a: '2', b: 'x\ny' }],
      // Perhaps two rows with a stray quotation mark each.
      [6, expect.stringContaining('has a quote')],
      [7, expect.stringContaining('has a quote')],
      [8, { a: '4', b: 'x', c: 'y' }],
    ]);
  });

  it('rejects a row that may be two, joined by a stray quotation mark each', async () => {
    expect(
      await csv('a,b,c\na@x.org,"n,no\nb@x.org,n",yes\n1,"x,\ny",z\n"n,a@x.org\nn",no,b@x.org\n'),
    ).toEqual([
      [2, expect.stringContaining('seems to contain another row')],
      [4, { a: '1', b: 'x,\ny', c: 'z' }],
      [6, expect.stringContaining('seems to contain another row')],
    ]);
  });

  it('loses only the line of a quote that is never closed', async () => {
    expect(await csv(`a,b\n1,"\n2,"x"\n3,"y\nz"\n4,x\n`)).toEqual([
      [2, expect.stringContaining('has a quote that is not closed')],
      [3, { a: '2', b: 'x' }],
      [4, { a: '3', b: 'y\nz' }],
      [6, { a: '4', b: 'x' }],
    ]);
  });

  it('loses no line between two stray quotes', async () => {
    expect(await csv('a,b\n1,"x\n2,x\n3,"y\n4,x\n')).toEqual([
      [2, expect.stringContaining('has a quote')],
      [3, { a: '2', b: 'x' }],
      [4, expect.stringContaining('has a quote')],
      [5, { a: '4', b: 'x' }],
    ]);
  });

  it('buffers at most 1 MiB for a quote that is not closed', async () => {
    const lines = Array.from({ length: 6_000 }, (_, n) => `${n},${'x'.repeat(250)}`);
    const records = await csv(`a,b\n1,"\n${lines.join('\n')}\n`, [64 * 1024, Infinity]);
    expect(records).toHaveLength(6_001);
    expect(records[0]).toEqual([2, expect.stringContaining('has a quote')]);
    expect(records.at(-1)).toEqual([6_002, { a: '5999', b: 'x'.repeat(250) }]);
  });

  it('reports records with thousands of cells without parsing them', async () => {
    const text = `a,b\n${','.repeat(200_000)}\n1,2\n"1${','.repeat(200_000)}",2\n`;
    expect(await csv(text, [64 * 1024, Infinity])).toEqual([
      [2, 'has more than 1,000 cells'],
      [3, { a: '1', b: '2' }],
      [4, { a: `1${','.repeat(200_000)}`, b: '2' }],
    ]);
    // A stray quotation mark does not hide them.
    const commas = ','.repeat(200_000);
    const stray = [`x"${commas}a"`, `x"${commas},"`, `x"${commas}\n"`, `x,"y"z"${commas}"`];
    for (const row of stray)
      expect((await csv(`a,b\n${row}\n1,2\n`, [Infinity]))[0]).toEqual([
        2,
        expect.stringContaining('has a quote'),
      ]);
    await expect(csv(','.repeat(200_000), [Infinity])).rejects.toThrow(/header has more than 1,000 cells/);
  });

  it.each([
    ['nothing', '', /header is missing/],
    ['blank lines', '\n\n', /header is missing/],
    ['a header with an open quote', '"a\n1,2', /header has a quote/],
  ])('rejects %s', async (_, text, message) => {
    await expect(csv(text)).rejects.toThrow(
      expect.objectContaining({ code: 'BAD_REQUEST', message: expect.stringMatching(message) }),
    );
  });
});

describe('for any text', () => {
  const half = MIB / 2;
  const TEXTS: [string, string][] = [
    ['an open quote', `"${'x'.repeat(900_000)}`],
    ['an open quote before many lines', `"${'x\n'.repeat(20_000)}`],
    ['only line breaks', '\n'.repeat(50_000)],
    ['a quote on every line', '"\n'.repeat(20_000)],
    ['a quote on every third line', '"\nx\nx\n'.repeat(10_000)],
    ['only quotes, in two lines', `${'"'.repeat(MIB - 10)}\n`.repeat(2)],
    [
      'open quotes at the maximum distance of the search',
      `"\n${`${'x'.repeat(99)}\n`.repeat(10_450)}`.repeat(3),
    ],
    ['open quotes slightly farther apart', `"\n${`${'x'.repeat(99)}\n`.repeat(10_500)}`.repeat(3)],
    ['lines too long', `${'x'.repeat(MIB + half)}\n"${'x'.repeat(MIB + half)}\n`],
  ];

  /** Delivers only some bytes singly: the first ones, and those where the buffer is full. All of them would take seconds. */
  const ALL_BUT_FULL = 131_000;
  function cut(text: string, size: number): Readable {
    const bytes = Buffer.from(text);
    return Readable.from(
      (function* () {
        for (let at = 0, end; at < bytes.length; at = end) {
          end = size === 1 && at === 1 ? ALL_BUT_FULL : at + size;
          yield bytes.subarray(at, end);
        }
      })(),
    );
  }

  it.each(TEXTS)('copies and searches each byte only a few times: %s', async (_, text) => {
    const few = text.length > MIB ? [64 * 1024] : [1_000];
    for (const size of isLong || text === TEXTS[0]![1] ? [1, 1_000, 64 * 1024, Infinity] : few) {
      // Enough to show the difference: a quadratic algorithm would copy two gigabytes.
      const bytes = size === 1 ? text.slice(0, ALL_BUT_FULL + 15_000) : text;
      const lines = new Lines(true);
      for await (const line of lines.of(cut(bytes, size))) {
        // Every record counts as broken, so all its lines but the first are read again.
        if ('text' in line) lines.rereadFromSecondLine();
      }
      expect(lines.work).toBeLessThan(5 * bytes.length + 1_000);
    }
  });

  it.each(someOf(TEXTS.toReversed(), 3))('gives others their turns while reading: %s', async (_, text) => {
    let turns = 0;
    let isRead = false;
    const count = async () => {
      for (; !isRead; await nextTurn()) turns += 1;
    };
    const counted = count();
    for await (const line of new Lines(true).of(cut(text, isLong ? 1_000 : 4_000)))
      if (line.line === 0) break;
    isRead = true;
    await counted;
    expect(turns).toBeGreaterThan(text.length / (128 * 1024));
  });
});

describe('a cell that a spreadsheet would run as a formula', () => {
  const FORMULA = /^[=+\-@\t\r]/;
  const HOSTILE = [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    "'=1",
    "''@",
    "'\t",
    '=',
    '-',
    "'''''+",
    '=cmd|" /C calc"!A0',
  ];
  const HARMLESS = ["'", "''", "'a", "it's", ' =1', '1-1', 'a=b', "a'=b", 'ada@example.org', '\n=1', '"=1"'];

  /** The cells of the first column, as other programs read them. */
  const seen = (values: readonly string[]): string[] => {
    const rows: string[][] = parse(writeCsv(values.map((value) => [value, 'x'])), {
      record_delimiter: '\r\n',
    });
    return rows.map(([cell]) => cell!);
  };

  it('gets an apostrophe, unlike all other cells', () => {
    expect(seen(HOSTILE)).toEqual(HOSTILE.map((value) => `'${value}`));
    expect(seen(HARMLESS)).toEqual(HARMLESS);
  });

  it('is read as it was before writing, like all other cells', async () => {
    const alphabet = ["'", "'", '=', '+', '-', '@', '\t', '\r', '\n', '"', ',', ';', ' ', 'a', 'é', '😀'];
    // A fixed sequence (Numerical Recipes), so that failures are reproducible.
    let seed = 1;
    const random = (below: number) => (seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32) % below;
    const made = Array.from({ length: isLong ? 5_000 : 1_500 }, () =>
      Array.from(
        { length: 1 + (random(1_024) % 6) },
        () => alphabet[(random(4_096) >> 4) % alphabet.length],
      ).join(''),
    );
    const values = [...HOSTILE, ...HARMLESS, ...made];
    const read = await csv(writeCsv([['a', 'b'], ...values.map((value) => [value, 'x'])]), [64 * 1024]);
    expect(read.map(([, fields]) => (fields as { a: string }).a)).toEqual(values);
    expect(values.filter((value) => FORMULA.test(value)).length).toBeGreaterThan(values.length / 5);
    expect(seen(values).filter((cell) => FORMULA.test(cell))).toEqual([]);
  });
});

it('writeCsv writes what readCsv reads', async () => {
  const cells = [
    'plain',
    'a,b',
    'say "x"',
    'a\nb',
    'a\rb',
    'a\r\nb',
    ' a',
    'ä€😀',
    "it's",
    '=1+1',
    '#',
    null,
  ];
  const columns = cells.map((_, n) => `c${n}`);
  const given = cells.flatMap((cell, n) => (cell === null ? [] : [[`c${n}`, cell] as const]));
  expect(await csv(writeCsv([columns, cells]))).toEqual([[2, Object.fromEntries(given)]]);
});
