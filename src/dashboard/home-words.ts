const en = {
  text: 'See what’s happening in your organization.',
  open: 'Open petitions',
  noneOpen: 'No petitions are open.',
  missing: (missing: string) => `${missing} to go`,
  reached: 'Goal reached. Time to set a higher one.',
  steps: 'What would you like to do?',
};

const de: typeof en = {
  text: 'Das passiert gerade in Ihrer Organisation.',
  open: 'Offene Petitionen',
  noneOpen: 'Zurzeit ist keine Petition offen.',
  missing: (missing) => `noch ${missing}`,
  reached: 'Ziel erreicht. Zeit für ein höheres.',
  steps: 'Was möchten Sie tun?',
};

export const homeWords = { en, de };
