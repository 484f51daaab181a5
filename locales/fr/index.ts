import { type Locale } from '../words.js';
import { emails } from './emails.js';
import { site } from './site.js';
import { unsubscribe } from './unsubscribe.js';

export const fr = { language: 'fr', site, unsubscribe, emails } satisfies Locale;
