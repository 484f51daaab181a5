import { type DashboardWords } from '../../en/dashboard/index.js';
import { common } from './common.js';
import * as sections from './sections.js';

export const dashboard: DashboardWords = { ...common, ...sections };
