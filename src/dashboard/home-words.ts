const en = {
  text: 'What is going on in your organization.',
  open: 'Open petitions',
  noneOpen: 'No petition is open at the moment.',
  missing: (missing: string) => `${missing} to go`,
  reached: 'The goal is reached: set a higher one.',
  steps: 'What do you want to do?',
};

const de: typeof en = {
  text: 'Was in Ihrer Organisation los ist.',
  open: 'Offene Petitionen',
  noneOpen: 'Zurzeit ist keine Petition offen.',
  missing: (missing) => `noch ${missing}`,
  reached: 'Das Ziel ist erreicht: Setzen Sie ein höheres.',
  steps: 'Was möchten Sie tun?',
};

export const homeWords = { en, de };
