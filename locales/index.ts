import { type Browser, languageOf } from '#libs/pages';
import { de } from './de/index.js';
import { en } from './en/index.js';
import { es } from './es/index.js';
import { fr } from './fr/index.js';
import { type DashboardWords } from './en/dashboard/index.js';
import { type Locale } from './words.js';

export { type DashboardWords };
export {
  type EmailWords,
  type Locale,
  type FormFault,
  type Notice,
  type SiteWords,
  type UnsubscribeWords,
} from './words.js';

/** Languages of public pages and emails. To add one, copy the folder `en` without `dashboard`, and list it here. */
export const LOCALES: Readonly<Record<string, Locale>> = { en, de, fr, es };

/** Languages of the dashboard. */
export const DASHBOARD = { en: en.dashboard, de: de.dashboard };

/** English if the language is not supported. */
export function localeIn(language: string): Locale {
  return Object.hasOwn(LOCALES, language) ? LOCALES[language]! : en;
}

/** English if the language is not supported. */
export function dashboardIn(language: string): DashboardWords {
  return Object.hasOwn(DASHBOARD, language) ? DASHBOARD[language as keyof typeof DASHBOARD] : en.dashboard;
}

/** The public texts in the browser's language. */
export function localeFor(browser: Browser): Locale {
  return localeIn(languageOf(browser, Object.keys(LOCALES)));
}

/** The dashboard's texts in the browser's language. */
export function dashboardFor(browser: Browser): DashboardWords {
  return dashboardIn(languageOf(browser, Object.keys(DASHBOARD)));
}
