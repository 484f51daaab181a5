import { localeIn } from '#locales';

/** The email about a disabled webhook. */
export function writeDisabledMail(
  preferred: string,
  {
    name,
    webhookId,
    url,
    failingSince,
  }: { name: string; webhookId: string; url: string; failingSince: Date },
): { subject: string; text: string } {
  const { language, emails } = localeIn(preferred);
  const { subject, text } = emails.disabledWebhook;
  const style = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const;
  const since = `${new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, style).format(failingSince)} UTC`;
  return { subject: subject(name), text: text({ organization: name, since, url, id: webhookId }) };
}
