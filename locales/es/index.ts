import { type Locale } from '../words.js';
import { emails } from './emails.js';
import { site } from './site.js';
import { unsubscribe } from './unsubscribe.js';

export const es = { language: 'es', site, unsubscribe, emails } satisfies Locale;
