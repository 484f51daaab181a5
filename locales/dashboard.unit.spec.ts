import { DASHBOARD, LOCALES } from './index.js';

type Text = string | ((...values: unknown[]) => string);

/** Each text or text function, with its path. */
function textsIn(words: object, path: readonly string[] = []): [name: string, text: Text][] {
  return Object.entries(words).flatMap(([name, value]: [string, Text | object]): [string, Text][] =>
    typeof value === 'object' ? textsIn(value, [...path, name]) : [[[...path, name].join('.'), value]],
  );
}

/** The text as pages show it; text functions for 1 and for 2. */
function saidBy(text: Text): string {
  if (typeof text === 'string') return text;
  return [1, 2].map((n) => text(...Array.from({ length: text.length }, () => n))).join(' / ');
}

const [english, german] = [textsIn(DASHBOARD.en), new Map(textsIn(DASHBOARD.de))];

/** Texts that are the same in both languages. */
const SAME =
  /^(Button|Dashboard|Link|Logo|Name|optional|Passkeys|Person|Petition|Segment|Status|Tags?|Team|Text|Unicode \(UTF‑\d+\)|Webhooks?|Website|[^a-z]*)$/i;

it('German has the same keys as English', () => {
  expect(english.length).toBeGreaterThan(1_000);
  expect([...german.keys()].toSorted()).toEqual(english.map(([name]) => name).toSorted());
});

it('no text is empty', () => {
  const texts = [...english, ...german];
  expect(texts.filter(([, text]) => saidBy(text).trim() === '').map(([name]) => name)).toEqual([]);
});

it('French punctuation never begins a line: a non-breaking space precedes it', () => {
  const { site, emails, unsubscribe } = LOCALES.fr!;
  const texts = textsIn({ site, emails, unsubscribe });
  expect(texts.length).toBeGreaterThan(80);
  expect(texts.filter(([, text]) => / [:;!?»]|« |["„“]/.test(saidBy(text))).map(([name]) => name)).toEqual(
    [],
  );
});

it('Spanish questions and exclamations have both marks', () => {
  const { site, emails, unsubscribe } = LOCALES.es!;
  const count = (text: string, mark: RegExp) => text.match(mark)?.length ?? 0;
  const single = textsIn({ site, emails, unsubscribe }).filter(([, text]) => {
    const said = saidBy(text);
    return count(said, /[¿¡]/g) !== count(said, /[?!]/g);
  });
  expect(single.map(([name]) => name)).toEqual([]);
});

it('no German text is left in English', () => {
  const same = english.filter(([name, text]) => {
    const said = saidBy(text);
    return !SAME.test(said) && said === saidBy(german.get(name) ?? '');
  });
  expect(same.map(([name]) => name)).toEqual([]);
});

it('no line ends or begins with one letter or digit of a word such as E-Mail or UTF-8: its hyphen does not break', () => {
  const all = textsIn({ LOCALES, DASHBOARD }).map(([name, text]): [string, string] => [name, saidBy(text)]);
  expect(all.filter(([, text]) => /\bE‑Mail/i.test(text)).length).toBeGreaterThan(100);
  const breaking = /(?<![\p{L}\p{N}-])[\p{L}\p{N}]-(?=\p{L})|(?<=\p{L})-[\p{L}\p{N}](?![\p{L}\p{N}‑])/u;
  expect(all.filter(([, text]) => breaking.test(text))).toEqual([]);
});
