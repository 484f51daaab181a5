import { common } from './common.js';
import * as sections from './sections.js';

/** Sections whose texts are looked up by names that are only known when the program runs. */
type ByName = 'events' | 'fields' | 'kinds';

/** All texts of the dashboard in one language. Numbers and dates are passed in already formatted. */
export type DashboardWords = typeof common & { sections: Record<string, string> } & Omit<
    typeof sections,
    ByName
  > &
  Record<ByName, Record<string, string>>;

export const dashboard: DashboardWords = { ...common, ...sections };
