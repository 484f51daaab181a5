import { accentsOf, html, type Html, trusted } from '#libs/pages';

/** What an organization's emails look like. */
export type Brand = {
  name: string;
  /** As `#rrggbb`. null: the default. */
  colour: string | null;
  /** The size in pixels of the file at `url`. */
  logo: { url: string; width: number; height: number } | null;
};

/** The parts in which emails differ. The content is shown above the footer. */
export type MailParts = {
  /** As in HTML's `lang`. */
  language: string;
  title: string;
  /** Mail programs show it after the subject in their lists. Empty: the beginning of the content. */
  preheader?: string;
  brand?: Brand | undefined;
  content: Html;
  foot: Html;
  /** The content has colours of its own for a light page, so dark mode changes only what is around it. */
  hasColours?: boolean;
  /** The content has a column of its own, with its own head and space. */
  isWide?: boolean;
};

const FONT = 'font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif';
const WIDTH = 600;
const LOGO_HEIGHT = 48;
const MAX_LOGO_WIDTH = 240;

/** After a short preview text, mail programs would show the beginning of the content. They show up to 150 characters. */
const FILLER = '\u034f\u200c\u00a0'.repeat(100);

/**
 * What inline styles cannot say: dark mode and narrow screens. Programs that ignore it show the light page, as the
 * table in docs/internals/mail-programs.md says.
 */
function styleOf(colour: string | null, hasColours: boolean): string {
  const { light, dark } = accentsOf(colour);
  const sheet = hasColours
    ? '.sheet{color-scheme:light}'
    : `.sheet{background-color:#1f2229!important;color:#e8eaed!important}
.sheet a{color:${dark.accent}!important}
.sheet .action{background-color:${dark.accent}!important;border-color:${dark.accent}!important}
.sheet .action a{color:${dark.onAccent}!important;border-color:${dark.accent}!important}`;
  return `
:root{color-scheme:light dark;supported-color-schemes:light dark}
img{max-width:100%;height:auto}
${hasColours ? '' : `.sheet a{color:${light.accent}}`}
@media (prefers-color-scheme:dark){
.page{background-color:#16181d!important}
${sheet}
.head,.foot,.foot a{color:#a6abb5!important}
}
@media (max-width:640px){
.sheet{padding-left:20px!important;padding-right:20px!important}
.sheet.wide{padding-left:0!important;padding-right:0!important}
.sheet table{width:100%!important}
.sheet table.action,.sheet table.content{width:auto!important}
.sheet td,.sheet th{width:auto!important}
}
@media (max-width:480px){
.sheet .column{display:block!important;box-sizing:border-box!important;width:100%!important;max-width:100%!important}
}`;
}

/**
 * The HTML document of every email. Tables, inline styles and `width` on images work in all mail programs. Outlook for
 * Windows ignores `max-width`, so it gets a table of 600 pixels around the page.
 */
export function mailDocument({
  language,
  title,
  preheader = '',
  brand,
  content,
  foot,
  hasColours = false,
  isWide = false,
}: MailParts): string {
  const hidden =
    'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px;mso-hide:all';
  const table = 'role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"';
  const accent = accentsOf(brand?.colour ?? null).light.accent;
  const top = brand?.colour && !isWide ? `border-top:4px solid ${accent};` : '';
  const outlook = (text: string) => trusted(`<!--[if mso]>${text}<![endif]-->`);
  return String(
    html`<!doctype html>
      <html lang="${language}" xmlns:o="urn:schemas-microsoft-com:office:office">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width,initial-scale=1" />
          <meta name="x-apple-disable-message-reformatting" />
          <meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no" />
          <meta name="color-scheme" content="light dark" />
          <meta name="supported-color-schemes" content="light dark" />
          <title>${title}</title>
          ${outlook('<xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml>')}
          <style>${trusted(styleOf(brand?.colour ?? null, hasColours))}</style>
        </head>
        <body class="page" style="margin:0;padding:0;background-color:#f3f4f6">
          ${preheader === '' ? null : html`<div style="${hidden}">${preheader}${FILLER}</div>`}
          <table class="page" ${trusted(table)} bgcolor="#f3f4f6" style="background-color:#f3f4f6">
            <tr>
              <td align="center" style="padding:24px ${isWide ? '0' : '8px'}">
                ${outlook(`<table role="presentation" width="${WIDTH}" align="center" cellpadding="0" cellspacing="0" border="0"><tr><td>`)}
                <table ${trusted(table)} style="max-width:${WIDTH}px">
                  ${brand && !isWide ? HeadOf(brand) : null}
                  <tr>
                    <td
                      class="${isWide ? 'sheet wide' : 'sheet'}"
                      bgcolor="#ffffff"
                      style="background-color:#ffffff;color:#1f2328;${top}padding:${isWide ? '0' : '32px;word-break:break-word'};border-radius:8px;${FONT};font-size:16px;line-height:1.5"
                    >
                      ${content}
                    </td>
                  </tr>
                  <tr>
                    <td
                      class="foot"
                      style="padding:24px 32px;color:#57606a;${FONT};font-size:14px;line-height:1.5"
                    >
                      ${foot}
                    </td>
                  </tr>
                </table>
                ${outlook('</td></tr></table>')}
              </td>
            </tr>
          </table>
        </body>
      </html>
`,
  );
}

/** The logo, or the name. The logo has the size of both attributes in Outlook, which ignores its style. */
function HeadOf({ name, logo }: Brand): Html {
  const scale = logo ? Math.min(1, LOGO_HEIGHT / logo.height, MAX_LOGO_WIDTH / logo.width) : 1;
  const [width, height] = [logo?.width ?? 0, logo?.height ?? 0].map((side) => Math.round(side * scale));
  return html`<tr>
    <td
      class="head"
      align="center"
      style="padding:0 8px 16px;color:#57606a;${FONT};font-size:16px;line-height:1.5;font-weight:600"
    >
      ${
        logo
          ? html`<img src="${logo.url}" width="${width}" height="${height}" alt="${name}" style="display:block;border:0" />`
          : name
      }
    </td>
  </tr>`;
}

/** Lines of text below each other. */
export function linesOf(lines: readonly string[]): Html {
  return html`${lines.map((line, n) => (n === 0 ? line : html`<br />${line}`))}`;
}
