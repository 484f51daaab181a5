import { WORDS } from './index.js';

type Text = string | ((...values: unknown[]) => string);

/** Each text, or what makes one of values, by where it stands. */
function textsIn(words: object, path: readonly string[] = []): [name: string, text: Text][] {
  return Object.entries(words).flatMap(([name, value]: [string, Text | object]): [string, Text][] =>
    typeof value === 'object' ? textsIn(value, [...path, name]) : [[[...path, name].join('.'), value]],
  );
}

/** As pages say it: of one, and of some. */
function saidBy(text: Text): string {
  if (typeof text === 'string') return text;
  return [1, 2].map((n) => text(...Array.from({ length: text.length }, () => n))).join(' / ');
}

const [english, german] = [textsIn(WORDS.en), new Map(textsIn(WORDS.de))];

/** What is called the same in both languages. */
const SAME = /^(Logo|Name|Passkeys|Person|Petition|Status|Tags?|Team|Text|Webhooks?|Website|[^a-z]*)$/i;

it('all that is said in English is said in German, and nothing else', () => {
  expect(english.length).toBeGreaterThan(1_000);
  expect([...german.keys()].toSorted()).toEqual(english.map(([name]) => name).toSorted());
});

it('nothing is said with no words', () => {
  const texts = [...english, ...german];
  expect(texts.filter(([, text]) => saidBy(text).trim() === '').map(([name]) => name)).toEqual([]);
});

it('nothing stays in English that is German', () => {
  const same = english.filter(([name, text]) => {
    const said = saidBy(text);
    return !SAME.test(said) && said === saidBy(german.get(name) ?? '');
  });
  expect(same.map(([name]) => name)).toEqual([]);
});
