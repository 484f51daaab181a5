import { type Locale } from '../words.js';
import { dashboard } from './dashboard/index.js';
import { emails } from './emails.js';
import { site } from './site.js';
import { unsubscribe } from './unsubscribe.js';

export const en = { language: 'en', site, unsubscribe, emails, dashboard } satisfies Locale & {
  dashboard: object;
};
