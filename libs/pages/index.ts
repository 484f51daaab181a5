export { accentsOf, contrastOf } from './colours.js';
export { mailButton } from './mail-button.js';
export { documentOf, headersOf, type Page, sendPage } from './document.js';
export {
  CheckOf,
  describedBy,
  type Field,
  FaultsOf,
  FieldOf,
  HintOf,
  type Option,
  OptionalOf,
  OptionsOf,
} from './fields.js';
export { FLASH, flashIn, withFlash } from './flash.js';
export { counted, formatDate, formatNumber, formatSince, languageName, plural } from './formats.js';
export { html, Html, trusted } from './html.js';
export { type Browser, isSameLanguage, languageAmong, languageOf } from './language.js';
export { qrCode } from './qr-code.js';
export { readForm } from './read-form.js';
export { richText } from './rich-text.js';
export { scriptFile } from './script-file.js';
export { CopyOf, ShareKit, ShareLinks, type ShareWords } from './share-kit.js';
export { localTime, momentAt, timeZoneNamed, timeZones } from './time-zone.js';
export { styleFrom, stylesOf } from './style.js';
