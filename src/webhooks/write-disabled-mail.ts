import { localeIn } from '#locales';
import { type Brand, writeLetter } from '#libs/mail';

/** The email about a disabled webhook. */
export function writeDisabledMail(
  preferred: string,
  {
    brand,
    webhookId,
    url,
    failingSince,
  }: { brand: Brand; webhookId: string; url: string; failingSince: Date },
): ReturnType<typeof writeLetter> {
  const { language, emails } = localeIn(preferred);
  const { subject, text } = emails.disabledWebhook;
  const style = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const;
  const since = `${new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, style).format(failingSince)} UTC`;
  const paragraphs = text({ organization: brand.name, since, url, id: webhookId }).trimEnd().split('\n\n');
  return writeLetter({ language, brand, subject: subject(brand.name), paragraphs, foot: [brand.name] });
}
