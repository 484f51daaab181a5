import { type Browser, languageAmong, languageOf } from '#libs/pages';
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

/** Languages of public pages and emails. To add one, copy the `en` folder without `dashboard`, and list it here. */
export const LOCALES: Readonly<Record<string, Locale>> = { en, de, fr, es };

/** Languages of the dashboard. */
export const DASHBOARD = { en: en.dashboard, de: de.dashboard };

export type DashboardLanguage = keyof typeof DASHBOARD;

/** The texts of a kind of groups that are not the same for every kind, such as lists. */
export type GroupWords = {
  /** The name of one. */
  kind: string;
  /** The name of a contact's membership. */
  link: string;
  /** What was recorded. */
  events: { created: string; updated: string; deleted: string; begins: string; ends: string };
  /** Further fields of the group, by their names. */
  fields?: Record<string, string>;
  /** The choices of a broadcast's audience. */
  sendTo: string;
  exclude: string;
  /** The condition of segments. */
  condition: string;
  /** Its pages, and their messages. */
  pages: Partial<DashboardWords['lists']> & { title: string };
};

/** Adds the texts of a kind of groups that a module declares. `section`: of its pages, `gatherings`. */
export function addGroupWords(
  group: { kind: string; section: string; link: string; events: Record<keyof GroupWords['events'], string> },
  words: Record<DashboardLanguage, GroupWords>,
): void {
  for (const language of Object.keys(DASHBOARD) as DashboardLanguage[]) {
    const { [language]: to } = DASHBOARD as Record<DashboardLanguage, DashboardWords>;
    const { kind, link, events, fields, sendTo, exclude, condition, pages } = words[language];
    Object.assign(to.kinds, { [group.kind]: kind, [group.link]: link });
    for (const [what, type] of Object.entries(group.events))
      to.events[type] = events[what as keyof typeof events];
    Object.assign(to.fields, fields, { [`${group.kind}Id`]: kind });
    to.broadcasts.fields.sendTo[group.kind] = sendTo;
    to.broadcasts.fields.exclude[group.kind] = exclude;
    Object.assign(to.segments.subjects, { [group.kind]: condition });
    Object.assign(to.sections, { [group.section]: pages.title });
    Object.assign(to.systemStatus.namesOfModels, { [group.section]: pages.title });
    Object.assign(to, { [group.section]: { ...to.lists, ...pages } });
  }
}

/** English if the language is not supported. */
export function localeIn(language: string): Locale {
  return Object.hasOwn(LOCALES, language) ? LOCALES[language]! : en;
}

/** English if the language is not supported. */
export function dashboardIn(language: string): DashboardWords {
  return Object.hasOwn(DASHBOARD, language) ? DASHBOARD[language as keyof typeof DASHBOARD] : en.dashboard;
}

/** The public texts in a language of any region (BCP 47). If it is not supported, in another one that is. */
export function localeNear(language: string, otherwise: string): Locale {
  return localeIn(languageAmong(Object.keys(LOCALES), language) ?? otherwise);
}

/** The public texts in the browser's language. @param preset if it wants none that is supported */
export function localeFor(browser: Browser, preset?: string): Locale {
  return localeIn(languageOf(browser, Object.keys(LOCALES), preset));
}

/** The dashboard's texts in the browser's language. */
export function dashboardFor(browser: Browser): DashboardWords {
  return dashboardIn(languageOf(browser, Object.keys(DASHBOARD)));
}
