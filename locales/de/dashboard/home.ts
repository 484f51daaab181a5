import { type home as en } from '../../en/dashboard/home.js';

export const home: typeof en = {
  text: 'Das passiert gerade in Ihrer Organisation.',
  open: 'Offene Petitionen',
  noneOpen: 'Zurzeit ist keine Petition offen.',
  missing: (missing) => `noch ${missing}`,
  reached: 'Ziel erreicht. Zeit für ein höheres.',
  steps: 'Was möchten Sie tun?',
};
