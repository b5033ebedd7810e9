import { ModelViewSet, readShape } from '@viewset/core';
import { Tag } from './entities.ts';
