import { broadcastWords } from '../broadcasts/words.js';
import { contactWords } from '../contacts/words.js';
import { eventWords } from '../history/event-words.js';
import { fieldWords } from '../history/field-words.js';
import { kindWords } from '../history/kind-words.js';
import { historyWords } from '../history/words.js';
import { homeWords } from '../home-words.js';
import { imageWords } from '../images/words.js';
import { keyWords } from '../keys/words.js';
import { listWords, tagWords } from '../lists/words.js';
import { organizationWords } from '../organization/words.js';
import { outboxWords } from '../outbox/words.js';
import { petitionWords } from '../petitions/words.js';
import { postWords } from '../posts/words.js';
import { suppressionWords } from '../suppressions/words.js';
import { teamWords } from '../team/words.js';
import { webhookWords } from '../webhooks/words.js';
import { workingsWords } from '../workings/words.js';
import { de } from './de.js';
import { en } from './en.js';

/** Texts of each section, in every language. */
const SECTIONS = {
  broadcasts: broadcastWords,
  contacts: contactWords,
  events: eventWords,
  fields: fieldWords,
  history: historyWords,
  home: homeWords,
  images: imageWords,
  keys: keyWords,
  kinds: kindWords,
  lists: listWords,
  organization: organizationWords,
  outbox: outboxWords,
  petitions: petitionWords,
  posts: postWords,
  suppressions: suppressionWords,
  tags: tagWords,
  team: teamWords,
  webhooks: webhookWords,
  workings: workingsWords,
};

type Language = 'en' | 'de';

function together<const L extends Language>(language: L, base: typeof en) {
  const sections = Object.fromEntries(
    Object.entries(SECTIONS).map(([section, words]) => [section, words[language]]),
  ) as { [section in keyof typeof SECTIONS]: (typeof SECTIONS)[section]['en'] };
  return { ...base, ...sections };
}

export const WORDS = { en: together('en', en), de: together('de', de) };

/** All texts of the dashboard in one language. Numbers and dates are passed in already formatted. */
export type Words = typeof WORDS.en;

/** English if the language is not supported. */
export function wordsIn(language: string): Words {
  return Object.hasOwn(WORDS, language) ? WORDS[language as Language] : WORDS.en;
}
