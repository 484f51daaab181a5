import { type EmailWords } from '../words.js';

export const emails: EmailWords = {
  invitation: {
    subject: (organization) => `You have been invited to join ${organization}`,
    text: (organization) => `Hello,\n\nYou have been invited to work on campaigns for ${organization}.`,
    button: 'Accept invitation',
    deadline: (days) => `This link expires in ${days} days and can only be used once.`,
    ignore: 'If you weren’t expecting this invitation, you can ignore this email.',
  },
  signIn: {
    subject: 'Your sign-in link',
    text: (host) => `Hello,\n\nHere is your link to sign in to ${host}.`,
    button: 'Sign in',
    deadline: (minutes) => `This link expires in ${minutes} minutes and can only be used once.`,
    ignore: 'If you didn’t request this link, you can ignore this email. No one can sign in without it.',
  },
  confirmation: {
    subject: (petition) => `Confirm your signature: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hello,' : `Hello ${firstName},`),
    ask: (petition, organization) =>
      `You signed “${petition}” by ${organization}. Your signature counts once you confirm it:`,
    button: 'Confirm my signature',
    deadline: (days) =>
      `The link expires in ${days} days. If you don’t confirm by then, your details are deleted.`,
    ignore:
      'If you didn’t sign this petition, you can ignore this email. Nothing is kept unless you confirm.',
    already: {
      subject: (petition) => `You have already signed: ${petition}`,
      text: (petition) =>
        `Someone, probably you, just signed “${petition}” again with this email address. Your signature already counts, so you don’t need to do anything.`,
      button: 'View the petition',
    },
  },
  signUp: {
    subject: (form) => `Confirm your subscription: ${form}`,
    ask: (form, organization) =>
      `You filled in “${form}” by ${organization}. Your subscription starts once you confirm it:`,
    button: 'Confirm my subscription',
    ignore: 'If you didn’t fill in this form, you can ignore this email. Nothing is kept unless you confirm.',
  },
  disabledWebhook: {
    subject: (organization) => `Webhook disabled for ${organization}`,
    text: ({ organization, since, url, id }) => `Hello,

We have been unable to deliver events to this webhook of ${organization} since ${since}:

${url}
(${id})

The webhook is now disabled. No events are lost. To see how the endpoint responded, call webhook.list-deliveries. Once the endpoint accepts requests again, call webhook.resume-webhook. Delivery continues where it stopped.
`,
  },
  notifications: {
    why: (organization) => `You are receiving this email because you are a member of ${organization}.`,
    off: 'Turn off this type of email',
    settings: 'Choose your emails',
    firstSignature: {
      subject: (petition) => `First signature: ${petition}`,
      text: (petition) => `“${petition}” has its first signature.`,
      button: 'View the petition',
    },
    goalReached: {
      subject: (petition) => `Goal reached: ${petition}`,
      text: ({ petition, goal, signatures }) =>
        `“${petition}” has reached its goal. Signatures so far: ${signatures} (goal: ${goal}).`,
      button: 'View the petition',
    },
    commentWaiting: {
      subject: (comments, count, petition) =>
        `${comments === 1 ? '1 comment to review' : `${count} comments to review`}: ${petition}`,
      text: (comments, count, petition) =>
        comments === 1
          ? `A signer of “${petition}” left a comment. It appears on the page once you approve it.`
          : `${count} comments on “${petition}” await your approval. They appear on the page once you approve them.`,
      button: 'Review comments',
    },
    broadcastFinished: {
      subject: (name) => `Finished sending: ${name}`,
      text: (name) => `Your email “${name}” has finished sending.`,
      sent: (people, count) => (people === 1 ? 'Sent to 1 person' : `Sent to ${count} people`),
      failed: (people, count) =>
        people === 1 ? '1 person could not be reached' : `${count} people could not be reached`,
      inDoubt: (people, count) =>
        people === 1 ? '1 person may not have received it' : `${count} people may not have received it`,
      skipped: (people, count) =>
        people === 1
          ? '1 person was left out, for example because they unsubscribed in the meantime'
          : `${count} people were left out, for example because they unsubscribed in the meantime`,
      hindered: {
        subject: (name) => `Not sent: ${name}`,
        text: (name) =>
          `Your email “${name}” was scheduled, but it could not be sent. Its page says what is missing. No one has received it.`,
        button: 'View the email',
      },
      button: 'View the results',
    },
    webhookDisabled: {
      subject: (organization) => `Webhook disabled for ${organization}`,
      text: (url) =>
        `This webhook is now disabled because deliveries have failed for too long:\n\n${url}\n\nNo events are lost. Once the endpoint accepts requests again, resume the webhook. It continues where it stopped.`,
      button: 'View the webhook',
    },
    weeklySummary: {
      subject: (organization) => `Your week at ${organization}`,
      text: (first, last) => `Here is what happened from ${first} to ${last}.`,
      figures: {
        signatures: (count) => `New signatures: ${count}`,
        contacts: (count) => `New contacts: ${count}`,
        unsubscribes: (count) => `Unsubscribed: ${count}`,
      },
      petition: (title, added, counts) =>
        `“${title}”: ${added === 1 ? '1 new signature' : `${counts.added} new signatures`} (${counts.signatures} of ${counts.goal})`,
      broadcast: (name, people, count) =>
        `“${name}”: sent to ${people === 1 ? '1 person' : `${count} people`}`,
      comments: (comments, count) =>
        comments === 1 ? '1 comment awaits your approval.' : `${count} comments await your approval.`,
      button: 'Open the dashboard',
    },
  },
  broadcastFooter: {
    why: (organization) => `You are receiving this email because you are a contact of ${organization}.`,
    unsubscribe: 'Unsubscribe',
  },
};
