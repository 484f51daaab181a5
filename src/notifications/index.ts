export { notificationsFor, settingsIdOf } from './notification.js';
export { NotificationsModule } from './notifications.module.js';
export { type OffLink, OffLinks } from './off-links.js';
export { type SettingsRecord } from './settings.js';
export { UpdateSettings } from './update-settings.js';
