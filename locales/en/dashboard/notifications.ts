export const notifications = {
  text: 'Choose which emails you get about this organization. Other members choose for themselves.',
  button: 'Save',
  names: {
    firstSignature: 'A petition gets its first signature',
    goalReached: 'A petition reaches its goal',
    commentWaiting: 'Comments wait for approval (at most one email a day for each petition)',
    broadcastFinished: 'An email has been sent, or a scheduled one could not be sent',
    webhookDisabled: 'A webhook is disabled because it keeps failing',
    weeklyDigest: 'What happened last week (every Monday, unless nothing happened)',
  },
  turningOff: {
    title: 'Turn off these emails?',
    text: (organization: string, name: string) =>
      `You will no longer get these emails from ${organization}: “${name}”. You can turn them on again under Notifications in the dashboard.`,
    button: 'Turn off',
  },
  turnedOff: {
    title: 'These emails are turned off',
    text: (name: string) => `You no longer get: “${name}”.`,
    button: 'Choose other emails',
  },
  unknownLink: {
    title: 'This link does not work',
    text: 'It may be incomplete. Copy the whole link from the email, or sign in and open Notifications.',
  },
  done: { saved: 'Your choice was saved.' },
};
