import { withoutCode } from './markdown.js';

/** Phrases that read as if translated, each with a replacement. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/^(Who|Whoever|Whom|Of whom|What|Whatever|Where)\b.*[.:]$/, 'start with the actor, or with "If"'],
  [/\b(is|are|was|were) told\b/i, 'reports, returns, shows, logs'],
  [/\banew\b|\bonce more\b/i, 'again'],
  [/\bat once\b/i, 'immediately, or at a time'],
  [/\bbesides?\b/i, 'next to, also, in addition'],
  [/\b(somebody|everybody|nobody)\b/i, 'someone, everyone, no one, or the actor'],
  [/\b(goes|go|went|going) on\b/i, 'continues'],
  [/\bas it comes\b/i, 'by default'],
  [/\b(whoever|whomever)\b/i, 'the actor, someone who'],
  [/(?<!\b(there|where)\s)\b(is|are) no (?!longer\b|one\b)/i, 'is not a, does not'],
  [/\bdearer\b/i, 'costs more'],
  [/\b(says|tells)\b/i, 'reports, states, shows, explains'],
  [/\bmeanwhile\b/i, 'while …, in that time'],
  [/\bfor ever\b/i, 'forever'],
  [/\bso (many|long)\b/i, 'that many, that long, or the number'],
  [/\bof (whom|which)\b/i, 'whose, or a second sentence'],
  [/^(There )?of (them|these)\b/i, 'their'],
  [/\blets? \w+ count no more\b/i, 'excludes'],
  [/\bread models?\b/i, 'projection'],
  [
    /\b(deeds|workings|belongings?|unborn|heed|quick pages?)\b/i,
    'actions, system status, membership, initial, handle, cached pages',
  ],
  [/\bthat there (is|are)\b|\bwhat there is\b/i, 'that exist'],
  [/\b(mails|mail) to many\b/i, 'broadcast'],
  [/(?<!left )\balone\b/i, 'only, by itself'],
  [/\bhears? of\b/i, 'receives'],
];
const LONGEST = 30;

/** Splits a page into sentences, headings, list items and table cells. */
function sentencesOf(markdown: string): string[] {
  const text = withoutCode(markdown)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, '');
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*>#|]|\d+\.)\s?)|\|/)
    .map((block) =>
      block
        .replace(/^\s*(?:[-*>]|#+|\d+\.)\s+/, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .flatMap((block) => block.split(/(?<=[.!?:])\s+/))
    .filter((sentence) => /\p{L}/u.test(sentence));
}

/** @returns the faults in the prose of a page, one line each. */
export function faultsOf(markdown: string): string[] {
  return sentencesOf(markdown).flatMap((sentence) => {
    const words = sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    return [
      ...PHRASES.filter(([pattern]) => pattern.test(sentence)).map(([, better]) => `${better}: ${sentence}`),
      ...(words > LONGEST ? [`${words} words: ${sentence}`] : []),
    ];
  });
}
