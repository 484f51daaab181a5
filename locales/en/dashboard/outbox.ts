export const outbox = {
  title: 'Outbox',
  text: 'This server is not connected to a mail server. It writes each email to a file, and no one receives it. These are your organization’s emails, with working links.',
  where: (folder: string) =>
    `This server stores them in ${folder}. If there are several servers, each has its own folder. Emails stay until someone deletes the files, even if the recipient has been erased. Sign-in links for people who also belong to other organizations are not listed here. They are only in files next to that folder.`,
  none: { title: 'No emails yet', text: 'Emails appear here instead of being sent. Try inviting someone.' },
  search: (most: string) => `Address or subject (in the newest ${most} emails)`,
  subject: 'Subject',
  noSubject: 'No subject',
  from: 'From',
  to: 'To',
  date: 'Date',
  written: 'Created',
  plain: 'Plain-text version',
  links:
    'Links open in a new window. If you follow a sign-in link, you are signed out here. Open it in a private window instead.',
  html: 'HTML version',
  frame: 'Email',
};
