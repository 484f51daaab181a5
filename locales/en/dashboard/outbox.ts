export const outbox = {
  title: 'Outbox',
  text: 'This server is not connected to a mail server. It writes each email to a file, and no one receives it. These are your organization’s emails, with working links.',
  where: (folder: string) =>
    `This server stores them in ${folder}. Other servers have their own folder. Emails stay until someone deletes the files, even emails to people who were deleted. Sign-in links for people who also belong to other organizations are stored only in files next to that folder.`,
  none: { title: 'No emails yet', text: 'Emails appear here instead of being sent. Try inviting someone.' },
  search: (most: string) => `Address or subject (in the newest ${most} emails)`,
  subject: 'Subject',
  noSubject: 'No subject',
  from: 'From',
  to: 'To',
  date: 'Date',
  written: 'Created',
  plain: 'Plain-text version',
  links: 'Links open in a new window. A sign-in link signs you out here, so open it in a private window.',
  html: 'HTML version',
  frame: 'Email',
};
