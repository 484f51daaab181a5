export const notifications = {
  text: 'Choose which emails you get about this organization. Other members choose for themselves.',
  button: 'Save',
  names: {
    firstSignature: 'A petition gets its first signature',
    goalReached: 'A petition reaches its goal',
    commentWaiting: 'Comments await approval (at most one email a day for each petition)',
    broadcastFinished: 'An email has been sent, or a scheduled one could not be sent',
    webhookDisabled: 'A webhook is disabled because it keeps failing',
    weeklySummary: 'Weekly summary (every Monday, unless nothing happened)',
  },
  turningOff: {
    title: 'Turn off these emails?',
    text: (organization: string, name: string) =>
      `${organization} will no longer send you these emails: “${name}”. You can turn them on again in the dashboard, under Notifications.`,
    button: 'Turn off',
  },
  turnedOff: {
    title: 'These emails are turned off',
    text: (name: string) => `You will no longer get these emails: “${name}”.`,
    button: 'Choose your emails',
  },
  unknownLink: {
    title: 'This link does not work',
    text: 'It may be incomplete, or belong to a membership that has ended. Copy the whole link from the email, or sign in and open Notifications.',
  },
  done: { saved: 'Your choice was saved.' },
};
