import { type DashboardWords } from '../../en/dashboard/index.js';
import { broadcasts } from './broadcasts.js';
import { common } from './common.js';
import { contacts } from './contacts.js';
import { events } from './events.js';
import { fields } from './fields.js';
import { history } from './history.js';
import { home } from './home.js';
import { images } from './images.js';
import { keys } from './keys.js';
import { kinds } from './kinds.js';
import { lists } from './lists.js';
import { organization } from './organization.js';
import { outbox } from './outbox.js';
import { petitions } from './petitions.js';
import { posts } from './posts.js';
import { suppressions } from './suppressions.js';
import { tags } from './tags.js';
import { team } from './team.js';
import { webhooks } from './webhooks.js';
import { workings } from './workings.js';

export const dashboard: DashboardWords = {
  ...common,
  broadcasts,
  contacts,
  events,
  fields,
  history,
  home,
  images,
  keys,
  kinds,
  lists,
  organization,
  outbox,
  petitions,
  posts,
  suppressions,
  tags,
  team,
  webhooks,
  workings,
};
