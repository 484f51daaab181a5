import { languageAmong, languageOf } from './language.js';

const choose = (header: string | undefined, among: string[], preset?: string) =>
  languageOf({ headers: { 'accept-language': header } }, among, preset);

describe('languageOf', () => {
  test.each([
    ['no header', undefined, ['en', 'de'], 'en'],
    ['the highest quality value', 'de;q=0.5, fr;q=0.9, en;q=0.1', ['en', 'de', 'fr'], 'fr'],
    ['the first of equal ones', 'fr, de', ['en', 'de', 'fr'], 'fr'],
    ['no quality value, which means 1', 'de;q=0.9, fr', ['en', 'de', 'fr'], 'fr'],
    ['a region that is not available', 'de-AT', ['en', 'de'], 'de'],
    ['the same region first', 'pt-BR', ['pt', 'pt-BR'], 'pt-BR'],
    ['another region', 'pt-PT', ['en', 'pt-BR'], 'pt-BR'],
    ['a script', 'zh-Hant-HK', ['en', 'zh-Hans', 'zh-Hant'], 'zh-Hant'],
    ['a rejected language', 'de;q=0', ['de', 'en'], 'en'],
    ['only rejected languages', 'de;q=0, en;q=0', ['de', 'en'], 'de'],
    ['a rejected language, and any other', 'de;q=0, *;q=0.5', ['de', 'fr'], 'fr'],
    ['any language', '*', ['en', 'de'], 'en'],
    ['any language before another', 'de;q=0.2, *;q=0.8', ['en', 'de'], 'en'],
    ['capitals and spaces', ' DE ; Q=0.8 , EN;q=0.2', ['en', 'de'], 'de'],
    ['broken quality values', 'de;q=abc, fr;q=', ['en', 'de', 'fr'], 'en'],
    ['nonsense', ';;,,=', ['en', 'de'], 'en'],
  ])('chooses by %s', (_, header, among, expected) => {
    expect(choose(header, among)).toBe(expected);
  });

  test('uses the preset if no language is wanted', () => {
    expect(choose('it', ['en', 'de'], 'de')).toBe('de');
  });
});

describe('languageAmong', () => {
  test.each([
    ['fr', 'fr'],
    ['FR-ca', 'fr'],
    ['de', 'de-CH'],
    ['it', undefined],
    ['', undefined],
    ['-', undefined],
  ])('finds what %s means', (range, expected) => {
    expect(languageAmong(['fr', 'de-CH'], range)).toBe(expected);
  });
});
