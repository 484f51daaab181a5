import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { views, viewSchema } from './views.js';

@Operation({ name: 'view.get-view', summary: 'Retrieve a view', answers: viewSchema })
export class GetView extends PastInput('viewId', 'view') {}

export const GetViewHandler = getHandler(GetView, views);
