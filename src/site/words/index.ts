import { de } from './de.js';
import { en } from './en.js';
import { es } from './es.js';
import { fr } from './fr.js';

import { type Words } from './words.js';

export { type FormFault, type Notice, type Words } from './words.js';

export const WORDS: Readonly<Record<string, Words>> = { en, de, fr, es };

/** In English if no translation exists. */
export function wordsIn(language: string): Words {
  return WORDS[language] ?? en;
}
