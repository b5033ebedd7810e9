"""Uses a shop, whose URL is the argument, by the client that OpenAPI Generator makes of its document."""

import json
import sys

import shop_client
from shop_client.models import Error, LoginBody, ProductInput, ProductPatch


def failure(status, call):
    try:
        call()
    except shop_client.ApiException as error:
        assert error.status == status, error
        return Error.from_json(error.body)
    raise AssertionError(f"no {status}")


client = shop_client.ApiClient(shop_client.Configuration(host=sys.argv[1]))
login = LoginBody(email="admin@example.com", password="admin-password")
client.configuration.access_token = shop_client.AuthApi(client).login(login).access_token
products = shop_client.ProductsApi(client)

made = products.create_product(ProductInput(name="Python tea", price=4.35))
assert made.stock == 0, "the server fills in the stock"
assert products.retrieve_product(made.id) == made
assert products.update_product(made.id, ProductPatch(stock=7)).stock == 7
replacement = ProductInput(name="Python coffee", price=12.5, stock=3)
assert products.replace_product(made.id, replacement).name == "Python coffee"

rule = json.dumps({"and": [{"in": ["coffee", {"var": "name"}]}, {"!": {"<": [{"var": "price"}, 5]}}]})
page = products.list_products(
    search="python", filter=rule, min_price=12.5, max_price=12.5, min_stock=3, sort=["-price", "name"], page=1, page_size=5
)
assert [product.name for product in page.results] == ["Python coffee"] and page.count == 1
assert products.list_products(sort=["name"], page=2, page_size=10).previous is True
assert len(products.featured_products().results) == 10
assert products.search_products("coffee").keyword == "coffee"
assert shop_client.AccountsApi(client).list_accounts().results[0].role == "admin"

wrong = failure(400, lambda: products.create_product(ProductInput.model_construct(name="x", price=-1)))
assert wrong.code == "invalid_usage" and wrong.details[0].path == "/price"
products.destroy_product(made.id)
assert failure(404, lambda: products.retrieve_product(made.id)).code == "not_found"
nobody = shop_client.ProductsApi(shop_client.ApiClient(shop_client.Configuration(host=sys.argv[1])))
assert failure(401, lambda: nobody.destroy_product(1)).code == "unauthorized"
print("used")
