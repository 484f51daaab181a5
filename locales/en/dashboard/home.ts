export const home = {
  text: 'See what’s happening in your organization.',
  open: 'Open petitions',
  noneOpen: 'No petitions are open.',
  missing: (missing: string) => `${missing} to go`,
  reached: 'Goal reached. Time to set a higher one.',
  steps: 'What would you like to do?',
};
